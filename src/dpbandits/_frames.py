"""Clean failures: what is raised carries nothing of the work that failed.

A traceback keeps the frames it went through, and those keep their variables: a reward, a value that was drawn and never
shown. Whatever logs local variables would print them. So what holds secrets runs inside `clean`, which lets go of the
arguments and of every frame, and raises the failure anew.

    the caller  ->  called (nothing left in it)            what a traceback shows
                        ->  the function -> ... -> failure     gone, with its context and cause

An exception of ours keeps its text, and so does one that is no `Exception`, such as KeyboardInterrupt. The text of any
other could hold what was in hand (a kernel that says which sum it did not like), so a StepError names its type alone.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from dpbandits.errors import DPBanditsError, StepError

Args = ParamSpec("Args")
Result = TypeVar("Result")


def clean(function: Callable[Args, Result]) -> Callable[Args, Result]:
    """Make a function whose failures leave no trace of its arguments and its work.

    If it is a method, its object may have an `_after_failure`, which is called after a failure.
    """

    @wraps(function)
    def called(*arguments: Args.args, **named: Args.kwargs) -> Result:
        # The handlers call no Python function: there may be no room on the stack, and one could be interrupted.
        failure: BaseException | None = None
        kind = ""
        try:
            try:
                return function(*arguments, **named)
            except BaseException as problem:  # noqa: BLE001
                if (
                    (not isinstance(problem, Exception) and not isinstance(problem, BaseExceptionGroup))
                    or isinstance(problem, DPBanditsError)
                    # Arguments that do not fit the function, which never ran.
                    or (isinstance(problem, TypeError) and problem.__traceback__.tb_next is None)  # type: ignore[union-attr]
                ):
                    failure = problem
                problem.__traceback__ = problem.__context__ = problem.__cause__ = None
                kind = type(problem).__name__
        except BaseException as problem:  # noqa: BLE001  (an interrupt, while another one was handled)
            problem.__traceback__ = problem.__context__ = problem.__cause__ = None
            failure = problem
        owner = arguments[0] if arguments else None
        arguments, named = (), {}  # type: ignore[assignment]
        try:
            _tell(owner)
            if failure is None:
                failure = StepError(
                    f"A step ended with {kind}. Its message is not repeated, since it could reveal a reward."
                )
            raise failure
        finally:
            del failure, owner  # a frame that holds its own exception stays until the collector comes

    return called


def _tell(owner: Any) -> None:
    action = None if isinstance(owner, type) else getattr(owner, "_after_failure", None)
    if action is not None:
        action()
