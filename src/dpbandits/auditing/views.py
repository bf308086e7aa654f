"""The two views: the arms alone, or every released value as well."""

from dpbandits.auditing.actions_view import ActionsView
from dpbandits.auditing.releases_view import ReleasesView
from dpbandits.auditing.view import View, ViewName

VIEWS: dict[ViewName, type[View]] = {view.name: view for view in (ActionsView, ReleasesView)}
