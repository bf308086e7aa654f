"""Four threads at once, switching as often as Python can, to shake out races."""

import sys
import threading
from collections.abc import Callable


def in_threads(action: Callable[[], object]) -> None:
    """Run the action four times at the same time."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=action) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
