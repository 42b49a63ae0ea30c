"""The tag of the wheel; everything else is in pyproject.toml.

A wheel that carries compiled kernels (gridcut/_kernels, made by `cutmatch warmup --portable`) fits one version of
Python on one kind of machine.  Without them it fits all.
"""

import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

CARRIES_KERNELS = (Path(__file__).parent / "gridcut" / "_kernels" / "about.json").is_file()
PLATFORM = "manylinux_2_28_x86_64"  # that of numba's own wheels; the kernels call numba and the C library only


class Installed(Distribution):
    """What is installed: machine code too, if there are kernels; then the wheel is no longer "pure Python"."""

    def has_ext_modules(self):
        return CARRIES_KERNELS or super().has_ext_modules()


class TaggedWheel(bdist_wheel):
    """A wheel for one version of Python on one platform, if it carries kernels."""

    def get_tag(self):
        if not CARRIES_KERNELS:
            return super().get_tag()
        python = "cp{}{}".format(*sys.version_info[:2])
        return python, python, PLATFORM


setup(distclass=Installed, cmdclass={"bdist_wheel": TaggedWheel})
