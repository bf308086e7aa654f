"""The contract of a policy, as checks that anybody's tests can run: `check_policy(policy)`."""

from dpbandits.testing.contract import CHECKS, check_policy
from dpbandits.testing.subject import Subject

__all__ = ["CHECKS", "Subject", "check_policy"]
