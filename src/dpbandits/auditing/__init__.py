"""Audits: attacks on our own claims, with statistics that hold, and the exact account of single runs."""

from dpbandits.auditing.audit import Audit, audit
from dpbandits.auditing.exact import ExactAudit, exact_audit

__all__ = ["Audit", "ExactAudit", "audit", "exact_audit"]
