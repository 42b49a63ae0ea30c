"""Peak memory of arrays in a call."""

import tracemalloc
from collections.abc import Callable


def traced_peak(call: Callable) -> int:
    """Bytes of arrays at the peak of a call, beyond those before it."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
