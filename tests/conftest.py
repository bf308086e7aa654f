"""Every run of the tests is the same run: hypothesis does not roll its own dice, and no example has a deadline."""

from hypothesis import settings

settings.register_profile("same every time", derandomize=True, deadline=None)
settings.load_profile("same every time")
