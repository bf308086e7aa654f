"""Audits: attacks on our own claims, with statistics that hold, and the exact account of single runs."""

from dpbandits.auditing.exact_losses import ExactAudit, exact_audit
from dpbandits.auditing.sampled_audit import Audit, audit
from dpbandits.auditing.sequences import count_actions
from dpbandits.auditing.view import ViewName

__all__ = ["Audit", "ExactAudit", "ViewName", "audit", "count_actions", "exact_audit"]
