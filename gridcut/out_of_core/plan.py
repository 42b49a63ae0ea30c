"""Division of a grid into strips, such that a block of two strips can be solved within a given amount of memory.

Bytes per cell while a block is solved, with A arcs and integers of E bytes; the lists are seldom full:

  state                     E (1 + A)
  excess that is set aside  E
  distances                 4
  forests                   10
  lists of the searches     36"""

import math
import os
import re
from numbers import Real
from pathlib import Path

DISTANCE_BYTES = 4
FOREST_BYTES = 10
LIST_BYTES = 36
BASE_BYTES = 400 * 2**20  # interpreter, libraries, kernels: reserved in every limit
DEFAULT_MEMORY = 4 * 2**30  # bytes, if the system does not report its memory
UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
# Files of a control group, by version of the interface: its limit, its usage, and the entry of memory.stat for the part
# of the usage that the system can reclaim at once.
CGROUP_FILES = {
    2: ("memory.max", "memory.current", "inactive_file"),
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def memory_bytes(memory) -> int:
    """Bytes from a number or a string such as "4 GB".

    None: half of the free memory, in addition to BASE_BYTES, most of which this process uses already.
    """
    if memory is None:
        return BASE_BYTES + available_memory() // 2
    if isinstance(memory, str):
        parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?i?B)\s*", memory, re.IGNORECASE)
        if parts is None:
            raise ValueError(f"memory must be a number of bytes or a string such as '4 GB', got {memory!r}")
        return int(float(parts[1]) * UNITS[parts[2].upper()])
    if isinstance(memory, bool) or not isinstance(memory, Real):
        raise TypeError(f"memory must be a number of bytes or a string such as '4 GB', got {type(memory).__name__}")
    if not 0 < memory < math.inf:
        raise ValueError(f"memory must be a positive number of bytes, got {memory!r}")
    return int(memory)


def available_memory() -> int:
    """Free memory in bytes, of this machine and of its container; if not reported, all memory, or DEFAULT_MEMORY."""
    free = container_memory()
    try:
        report = (PROC / "meminfo").read_text("ascii")  # MemAvailable includes reclaimable caches
        free.append(int(re.search(r"MemAvailable:\s+(\d+) kB", report)[1]) * 1024)
    except (OSError, TypeError):
        pass
    if free:
        return min(free)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return DEFAULT_MEMORY


def container_memory() -> list[int]:
    """Free bytes under each memory limit of the control groups of this process, versions 2 and 1."""
    free: list[int] = []
    try:
        entries = (PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return free
    for entry in entries:
        number, controllers, path = entry.split(":", 2)
        if number != "0" and "memory" not in controllers.split(","):
            continue
        version, root = (2, CGROUPS) if number == "0" else (1, CGROUPS / "memory")
        most, used, cache = CGROUP_FILES[version]
        group = root / path.strip("/")  # in a container it may be missing, and its parents
        for folder in (group, *group.parents):
            if not folder.is_relative_to(root):
                break
            try:
                stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
                left = int((folder / most).read_text()) - int((folder / used).read_text())
            except (OSError, ValueError):  # "max": no limit
                continue
            free.append(max(0, left + int(stat.get(cache, 0))))
    return free


def cell_bytes(arcs: int, itemsize: int, pixel_bytes: int) -> int:
    """Bytes per cell of a block; pixel_bytes: those of the capacities, which are released before the search starts."""
    return itemsize * (1 + arcs) + max(itemsize + DISTANCE_BYTES + FOREST_BYTES + LIST_BYTES, pixel_bytes)


def strips(lines: int, halo_width: int, line_bytes: int, memory: int) -> list[int]:
    """The lines at which strips start, and the end of the last; ValueError if two strips do not fit into `memory`.

    halo_width   largest number of lines that an arc spans
    line_bytes   bytes per line
    """
    min_height = max(1, 2 * halo_width)  # the lines read by the strips above and below must not overlap
    room = (memory - BASE_BYTES) // line_bytes
    if room >= lines:
        return [0, lines]
    height = min((room - 2 * halo_width) // 2, lines // 2)
    if height < min_height:
        min_lines = min(2 * min_height + 2 * halo_width, lines)
        raise ValueError(
            f"memory={memory} bytes is too little: {BASE_BYTES} bytes are reserved for the interpreter and libraries, "
            f"and {min_lines} lines along the first axis need {min_lines * line_bytes} bytes; pass "
            f"memory={BASE_BYTES + min_lines * line_bytes} or more"
        )
    count = min(-(-lines // height), lines // min_height)
    return [i * lines // count for i in range(count + 1)]


def partition(bounds: list[int], shifted: bool) -> list[tuple[int, int]]:
    """Blocks as half-open ranges of strips, two adjacent strips each; shifted: the first block is a single strip."""
    count = len(bounds) - 1
    starts = [0, *range(1 if shifted else 2, count, 2)]
    return list(zip(starts, [*starts[1:], count], strict=True)) if count > 2 or not shifted else [(0, count)]
