"""The two views: the arms alone, or every released value as well."""

from dpbandits.auditing.actions import ActionsView
from dpbandits.auditing.releases import ReleasesView
from dpbandits.auditing.view import View, ViewName

VIEWS: dict[ViewName, type[View]] = {view.name: view for view in (ActionsView, ReleasesView)}
