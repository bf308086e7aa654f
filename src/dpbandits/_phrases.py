"""Phrases that all rooms write the same way."""


def count_text(number: int, noun: str) -> str:
    """Return a number of things.

    >>> count_text(1, "arm"), count_text(150_000, "step"), count_text(0, "run")
    ('1 arm', '150,000 steps', '0 runs')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def one_line(text: object, longest: int = 200) -> str:
    """Return a text, such as what an exception says, in one line that is not too long.

    >>> one_line(ValueError("two\\nlines"))
    'two lines'
    """
    line = " ".join(str(text).split())
    return line if len(line) <= longest else f"{line[:longest]}..."
