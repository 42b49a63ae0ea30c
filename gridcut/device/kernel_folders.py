"""Folders of compiled kernels that this process may trust: only this user and root may write there.

Files of kernels hold pickled objects, and loading a pickle runs code.  A folder is used only if it and all folders
above it belong to this user (or root), and no other user may write there.  The folder comes from the environment
variable NUMBA_CACHE_DIR, never from `numba.config`: numba reads `.numba_config.yaml` of the current folder, which may
be another user's folder of images.

Folders, in this order: NUMBA_CACHE_DIR if it is set, else the package's own __pycache__, else (if the installation is
read-only or shared) the user's cache folder.
"""

import os
import stat
import sys
import warnings
from functools import cache
from pathlib import Path

FOLDER = "cutmatch-kernels"


@cache
def cache_folder(package: Path) -> Path | None:
    """The cache folder for the package in folder `package`; None if no folder is both writable and private."""
    for base in _bases(package):
        folder = base / FOLDER
        try:
            _make_private(folder)
            if not is_private(folder):
                if base == _environment_folder():
                    warnings.warn(
                        f"NUMBA_CACHE_DIR={base} is not used for compiled kernels: another user could write there; "
                        "choose a folder that only you may write",
                        RuntimeWarning,
                        stacklevel=2,
                    )
            elif os.access(folder, os.W_OK | os.X_OK):
                return folder
        except OSError:
            continue
    return None


def kept_in() -> Path | None:
    """The folder that keeps kernels of gridcut, those of its siblings usually too; None if nothing is kept."""
    if os.environ.get("CUTMATCH_CACHE", "1") == "0":
        return None
    return cache_folder(Path(__file__).resolve().parents[1])


def _environment_folder() -> Path | None:
    folder = os.environ.get("NUMBA_CACHE_DIR")
    return Path(folder).absolute() if folder else None


def _bases(package: Path):
    folder = _environment_folder()
    if folder is not None:
        yield folder
        return
    yield package / "__pycache__"
    try:
        yield _user_folder()
    except (RuntimeError, KeyError):  # there is no home folder
        return


def _user_folder() -> Path:
    """The folder for caches of this user, by the conventions of the system."""
    if sys.platform == "win32":
        return Path(os.environ["LOCALAPPDATA"], "cutmatch", "Cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "cutmatch"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cutmatch"


def _make_private(folder: Path) -> None:
    """Create a folder and the missing ones above it, writable for this user alone whatever the umask."""
    if not folder.exists():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def is_private(path: Path) -> bool:
    """Whether only this user and root can change the content of this path."""
    if os.name != "posix":
        return True
    path = path.resolve()
    if not is_ours(path.stat()):
        return False
    for parent in path.parents:
        status = parent.stat()
        if not is_ours(status) and not (status.st_uid in (0, os.geteuid()) and status.st_mode & stat.S_ISVTX):
            return False  # in a folder with the sticky bit, such as /tmp, other users cannot rename our files
    return True


def is_ours(status: os.stat_result) -> bool:
    """Whether a file belongs to this user or root, and no other user may write to it."""
    if os.name != "posix":
        return True
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & stat.S_IWOTH:
        return False
    return not status.st_mode & stat.S_IWGRP or _is_own_group(status.st_gid)


@cache
def _is_own_group(gid: int) -> bool:
    """Whether a group is root's or this user's private group, which many Linux systems create."""
    import grp
    import pwd

    if gid == 0:
        return True
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return user.pw_gid == gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
