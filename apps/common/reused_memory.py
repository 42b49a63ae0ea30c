"""Memory that a process keeps for its next arrays, instead of returning it to the system after each of them."""

from functools import cache

import numpy as np

LARGEST_BLOCK = 2**25 - 2**16  # bytes; glibc ignores larger blocks when it adapts its thresholds


@cache
def keep_freed_memory() -> None:
    """Let glibc reuse freed blocks of up to 32 MiB, and up to 64 MiB of free memory at the end of a heap.

    By default it returns larger blocks than 128 KiB to the system.  The next array of that size then starts with a page
    fault per 4 KiB, in which the system clears the page.  glibc adapts both limits to the largest block that was freed
    (mallopt(3), M_MMAP_THRESHOLD), so this function allocates and frees one.  It does not touch that block, which
    therefore occupies no memory.  Other allocators are unaffected.
    """
    np.empty(LARGEST_BLOCK, np.uint8)
