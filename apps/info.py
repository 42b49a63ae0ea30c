"""Show versions, devices, threads and the folders of compiled kernels.

Include the output in bug reports.
"""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from apps.common.command import add_json_option, parsed, parser, write_json
from apps.common.errors import finish, print_lines
from apps.common.outputs import Outputs

LIBRARIES = (
    "cutmatch",
    "numba",
    "numba-cuda",
    "numpy",
    "scipy",
    "scikit-image",
    "opencv-python-headless",
    "pillow",
    "tifffile",
    "tqdm",
)


def gpu_facts() -> dict | None:
    """Name, memory in bytes and driver of the GPU that solves the cuts; None without a GPU."""
    from gridcut.device import cuda_is_available

    if not cuda_is_available():
        return None
    from gridcut.device.cuda import SIMULATED, cuda

    if SIMULATED:
        return {"name": "numba's simulator", "memory": 0, "driver": "none"}
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
    """Versions by library, system, cores, threads, devices and cache folders."""
    import apps
    import gridcut
    from gridcut.device import cuda_is_available, thread_count
    from gridcut.device.kernel_cache import cache_folder

    versions = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    folders = {}
    for package in (gridcut, apps):
        folder = cache_folder(Path(package.__file__).parent)
        folders[package.__name__] = str(folder) if folder is not None else "off"
    has_cuda = cuda_is_available()
    return {
        "versions": versions,
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "threads": thread_count(),
        "devices": ["cpu", "cuda"] if has_cuda else ["cpu"],
        "gpu": gpu_facts(),
        "cache": folders if os.environ.get("CUTMATCH_CACHE", "1") != "0" else "off (CUTMATCH_CACHE=0)",
    }


def _main(argv) -> int:
    options = parser("info", __doc__)
    add_json_option(options)
    chosen = parsed(options, argv)
    Outputs("info", chosen, ()).check([])
    known = facts()
    if chosen.json:
        write_json(chosen.json, known)
        return 0
    gpu, folders = known["gpu"], known["cache"]
    about = f"{gpu['name']}, {gpu['memory'] / 2**30:.0f} GiB, driver {gpu['driver']}" if gpu else "none"
    rows = [
        *known["versions"].items(),
        ("system", known["system"]),
        ("cores, threads", f"{known['cores']}, {known['threads']}"),
        ("devices", ", ".join(known["devices"])),
        ("gpu", about),
    ]
    for name, folder in folders.items() if isinstance(folders, dict) else [("", folders)]:
        rows.append((f"machine code {name}".strip(), folder))
    print_lines(*(f"{name:24} {value}" for name, value in rows))
    return 0


def main(argv=None) -> int:
    """Run the command and return its exit status."""
    return finish("cutmatch info", _main, argv)


if __name__ == "__main__":
    sys.exit(main())
