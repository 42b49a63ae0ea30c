"""Versions of Python, of this distribution and of the libraries that it computes with."""

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

LIBRARIES = (
    "cutmatch",
    "numba",
    "numba-cuda",
    "numpy",
    "scipy",
    "scikit-image",
    "opencv-python-headless",
    "imageio",
    "pillow",
    "tifffile",
    "av",
    "tqdm",
)


@cache
def library_versions() -> dict[str, str]:
    """{name: version}, or "not installed"; no library is imported."""
    versions = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return versions
