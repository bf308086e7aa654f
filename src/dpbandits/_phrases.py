"""Phrases that all rooms write the same way."""


def count_text(number: int, noun: str) -> str:
    """Return a number of things.

    >>> count_text(1, "arm"), count_text(150_000, "step"), count_text(0, "run")
    ('1 arm', '150,000 steps', '0 runs')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def duration_text(seconds: float) -> str:
    """Return a duration in the largest unit of which it is a whole number.

    >>> [duration_text(seconds) for seconds in (0.5, 1, 90, 5400, 3600, 86400, 30 * 86400)]
    ['0.5 seconds', '1 second', '90 seconds', '90 minutes', '1 hour', '1 day', '30 days']
    """
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds % length == 0:
            return count_text(int(seconds // length), unit)
    return f"{seconds:,} seconds"


def one_line(text: object, longest: int = 200) -> str:
    """Return a text, such as what an exception says, in one line that is not too long.

    >>> one_line(ValueError("two\\nlines"))
    'two lines'
    """
    line = " ".join(str(text).split())
    return line if len(line) <= longest else f"{line[:longest]}..."
