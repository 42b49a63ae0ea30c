"""The tag of the wheel, its sample files and the dates in the archive of sources; all else is in pyproject.toml.

A wheel that carries compiled kernels (gridcut/_kernels, made by `cutmatch warmup --portable`) fits one version of
Python on one kind of machine.  Without them it fits all.

If SOURCE_DATE_EPOCH is set, to the time of the commit in seconds, each build of a commit gives the same archive.
"""

import gzip
import os
import shutil
import sys
import sysconfig
import tarfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).parent
CARRIES_KERNELS = (ROOT / "gridcut" / "_kernels" / "about.json").is_file()
# Those of numba's own wheels; the kernels call numba and the C library only.
PLATFORM = sysconfig.get_platform().replace("-", "_").replace("linux_", "manylinux_2_28_")


class Installed(Distribution):
    """What is installed: machine code too, if there are kernels; then the wheel is no longer "pure Python"."""

    def has_ext_modules(self):
        return CARRIES_KERNELS or super().has_ext_modules()


class WithSamples(build_py):
    """The packages, and in apps/samples the files of data/, which `cutmatch demo --samples` copies."""

    def run(self):
        super().run()
        if not self.editable_mode:
            shutil.copytree(ROOT / "data", Path(self.build_lib) / "apps" / "samples", dirs_exist_ok=True)


class TaggedWheel(bdist_wheel):
    """A wheel for one version of Python on one platform, if it carries kernels."""

    def get_tag(self):
        if not CARRIES_KERNELS:
            return super().get_tag()
        python = "cp{}{}".format(*sys.version_info[:2])
        return python, python, PLATFORM


class DatedSources(sdist):
    """An archive of sources that depends only on the files, if SOURCE_DATE_EPOCH is set, as setuptools' wheels do."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        date = os.environ.get("SOURCE_DATE_EPOCH")
        if date is None or format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)

        def dated(entry):
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = int(date), 0, 0, "", ""
            entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            return entry

        path = f"{base_name}.tar.gz"
        with (
            open(path, "wb") as file,
            gzip.GzipFile("", "wb", mtime=int(date), fileobj=file) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            archive.add(base_dir, filter=dated)
        return path


setup(distclass=Installed, cmdclass={"build_py": WithSamples, "bdist_wheel": TaggedWheel, "sdist": DatedSources})
