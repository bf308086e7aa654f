"""Contracts as checks that anybody's tests can run: `check_policy` of a policy, `check_book` of a learner's book."""

from dpbandits.testing.book_contract import check_book
from dpbandits.testing.contract import CHECKS, check_policy
from dpbandits.testing.subject import Subject

__all__ = ["CHECKS", "Subject", "check_book", "check_policy"]
