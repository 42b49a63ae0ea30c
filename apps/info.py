"""Show versions, devices, threads, and where compiled kernels come from.

Include the output in bug reports.
"""

import os
import platform
from pathlib import Path

from apps.common.command import add_json_option, parsed, parser, write_json
from apps.common.errors import print_lines
from apps.common.outputs import Outputs
from apps.common.versions import library_versions


def gpu_name() -> str:
    """Name, memory and driver of the GPU that solves the cuts; empty without a GPU."""
    from gridcut.device import cuda_is_available

    if not cuda_is_available():
        return ""
    from gridcut.device.cuda import cuda

    name = cuda.get_current_device().name
    memory = cuda.current_context().get_memory_info().total / 2**30
    return f"{name.decode() if isinstance(name, bytes) else name}, {memory:.0f} GiB, driver {_driver()}"


def _driver() -> str:
    """Version of the driver, and the newest CUDA version that it supports."""
    from cuda.core import system

    newest = ".".join(map(str, system.get_user_mode_driver_version()))
    try:
        version = ".".join(map(str, system.get_kernel_mode_driver_version()))
    except Exception:  # needs NVML, which containers may lack
        return f"for CUDA {newest}"
    return f"{version} for CUDA {newest}"


def facts() -> dict[str, str]:
    """Versions by library, system, cores, threads, GPU, and compiled kernels."""
    from gridcut.device import thread_count
    from gridcut.device.choose import cuda_obstacle

    return library_versions() | {
        "system": platform.platform(),
        "cores, threads": f"{os.cpu_count()}, {thread_count()}",
        "gpu": gpu_name() or f"none: {cuda_obstacle()}",
        "compiled kernels": _kernels(),
    }


def _kernels() -> str:
    """Where compiled kernels are: in the package, or why they are not used, and in the cache folder of this user."""
    from gridcut.device.kernel_store import CARRIED, cache_folder, obstacle

    if os.environ.get("CUTMATCH_CACHE", "1") == "0":
        return "none are kept (CUTMATCH_CACHE=0); every process compiles those that it calls"
    unused, folder = obstacle(), cache_folder()
    if not unused:
        return f"ready: {_count(CARRIED)} came with this installation"
    kept = f"{_count(folder)} in {folder}" if folder else "none: no folder to keep them in is writable"
    return f"{kept}; `cutmatch warmup` compiles all; {unused}"


def _count(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*.nbc"))


def run(argv) -> int:
    """Run the command and return its exit status; raises an error that ends the run."""
    options = parser("info", __doc__)
    add_json_option(options)
    chosen = parsed(options, argv)
    Outputs(chosen).check_named()
    known = facts()
    if chosen.json:
        write_json(chosen.json, known)
    else:
        print_lines(*(f"{name:24} {value}" for name, value in known.items()))
    return 0
