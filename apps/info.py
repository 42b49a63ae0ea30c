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


def gpu_facts() -> dict | None:
    """Name, memory in bytes and driver of the GPU that solves the cuts; None without a GPU."""
    from gridcut.device import cuda_is_available

    if not cuda_is_available():
        return None
    from gridcut.device.cuda import cuda

    name = cuda.get_current_device().name
    memory = cuda.current_context().get_memory_info().total
    return {"name": name.decode() if isinstance(name, bytes) else name, "memory": int(memory), "driver": _driver()}


def _driver() -> str:
    """Version of the driver, and the newest CUDA version that it supports."""
    from cuda.core import system

    newest = ".".join(map(str, system.get_user_mode_driver_version()))
    try:
        version = ".".join(map(str, system.get_kernel_mode_driver_version()))
    except Exception:  # needs NVML, which containers may lack
        return f"for CUDA {newest}"
    return f"{version} for CUDA {newest}"


def facts() -> dict:
    """Versions by library, system, cores, threads, devices, and compiled kernels."""
    from gridcut.device import cuda_is_available, thread_count
    from gridcut.device.choose import cuda_obstacle

    has_cuda = cuda_is_available()
    return {
        "versions": library_versions(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "threads": thread_count(),
        "devices": ["cpu", "cuda"] if has_cuda else ["cpu"],
        "gpu": gpu_facts(),
        "gpu_obstacle": cuda_obstacle(),
        "kernels": kernel_facts(),
    }


def kernel_facts() -> dict:
    """Compiled kernels: those in the package, or why they are not used, and those in the cache folder of this user."""
    from gridcut.device.kernel_store import CARRIED, cache_folder, obstacle

    if os.environ.get("CUTMATCH_CACHE", "1") == "0":
        return {"off": "CUTMATCH_CACHE=0"}
    unused, folder = obstacle(), cache_folder()
    return {
        "package": {"unused": unused} if unused else {"folder": str(CARRIED), "kernels": _count(CARRIED)},
        "cache": {"folder": str(folder), "kernels": _count(folder)} if folder else None,
    }


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
        return 0
    gpu = known["gpu"]
    about = f"none: {known['gpu_obstacle']}"
    if gpu:
        about = f"{gpu['name']}, {gpu['memory'] / 2**30:.0f} GiB, driver {gpu['driver']}"
    rows = [
        *known["versions"].items(),
        ("system", known["system"]),
        ("cores, threads", f"{known['cores']}, {known['threads']}"),
        ("devices", ", ".join(known["devices"])),
        ("gpu", about),
        ("compiled kernels", _kernel_line(known["kernels"])),
    ]
    print_lines(*(f"{name:24} {value}" for name, value in rows))
    return 0


def _kernel_line(kernels: dict) -> str:
    """Where compiled kernels are, also those of earlier sources."""
    if "off" in kernels:
        return f"none are kept ({kernels['off']}); every process compiles those that it calls"
    if (unused := kernels["package"].get("unused")) is None:
        return f"ready: {kernels['package']['kernels']} came with this installation"
    cache = kernels["cache"]
    kept = f"{cache['kernels']} in {cache['folder']}" if cache else "none: no folder to keep them in is writable"
    return f"{kept}; `cutmatch warmup` compiles all; {unused}"
