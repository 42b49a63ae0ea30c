"""Machine code of kernels cached on disk: folders, file names, and when a file may be trusted.

numba's own cache checks one source file only, so a kernel would continue to run old code after a function that it calls
in another file has changed.  Here the name of a file contains a digest of every source file that the kernel's module
imports, directly or not.  An edit of any of them changes the names, so outdated code is never loaded.

Files hold pickled objects, and loading a pickle runs code.  A folder is used only if it and all folders above it belong
to this user (or root), and no other user may write there; the same holds for files.  The folder comes from the
environment variable NUMBA_CACHE_DIR, never from `numba.config`: numba reads `.numba_config.yaml` of the current folder,
which may be another user's folder of images.  Each file starts with a digest of its content; a damaged file is deleted
and the kernel compiled again.

Folders, in this order: NUMBA_CACHE_DIR if it is set, else the package's own __pycache__, else (if the installation is
read-only or shared) the user's cache folder.  CUTMATCH_CACHE=0 in the environment disables the cache.
"""

import hashlib
import os
import pickle
import re
import stat
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path

import llvmlite
import numba
import numpy
from numba.core import caching
from numba.core.serialize import dumps

FOLDER = "cutmatch-kernels"
VERSIONS_KEPT = 4  # earlier versions of a module's kernels that are kept on disk, for other branches in use
MAGIC = b"cutmatch kernel 1\n"

_HERE = Path(__file__).resolve().parent
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#(]*)|import[ \t]+([\w., \t]+))", re.M
)
_PLATFORM = f"{sys.version_info[:2]} {numba.__version__} {llvmlite.__version__} {numpy.__version__}"


# Names: a digest of all sources that a kernel's code can depend on


def package_of(filename: str | Path) -> Path:
    """The topmost package folder that contains a source file."""
    folder = Path(filename).resolve().parent
    while (folder.parent / "__init__.py").exists():
        folder = folder.parent
    return folder


@cache
def _read(path: Path) -> tuple[bytes, tuple[tuple[str, ...], ...]]:
    """The digest of a source file, and the possible module names that each of its imports refers to."""
    text = path.read_bytes()
    found = []
    for module, names, plain in _IMPORT.findall(text.decode("utf-8", "replace")):
        if module:
            parts = re.findall(r"\w+", re.sub(r"\bas\s+\w+", "", names))
            found.append((module, *(f"{module}.{part}" for part in parts)))
        else:
            found.append(tuple(re.sub(r"\bas\s+\w+", "", plain).replace(",", " ").split()))
    return hashlib.sha256(text).digest(), tuple(found)


@cache
def _source_of(root: Path, module: str) -> Path | None:
    """The file of a module below `root`, the folder that contains its package."""
    path = root.joinpath(*module.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


def _sources(path: Path, roots: tuple[Path, ...], seen: dict[Path, bytes]) -> None:
    """Add a file and every file it imports from `roots`, directly or not, with their digests."""
    pending = [path]
    while pending:
        file = pending.pop()
        if file in seen:
            continue
        seen[file], imports = _read(file)
        for modules in imports:
            for module in modules:
                if module.startswith("."):
                    raise OSError(f"{file}: kernels of modules with relative imports are not cached")
                pending += [source for root in roots if (source := _source_of(root, module)) is not None]


def _functions(value, seen: set[int]):
    """Yield the Python functions that a value contains, also in its closures."""
    if id(value) in seen:
        return
    seen.add(id(value))
    value = getattr(value, "py_func", value)
    if isinstance(value, tuple | list):
        for item in value:
            yield from _functions(item, seen)
    elif hasattr(value, "__code__"):
        yield value
        for cell in value.__closure__ or ():
            yield from _functions(cell.cell_contents, seen)


def source_digest(function) -> str:
    """Sixteen hexadecimal digits that change with every source that a kernel's machine code can depend on."""
    seen = {}
    for part in _functions(function, set()):
        path = Path(part.__code__.co_filename).resolve()
        _sources(path, tuple({package_of(path).parent, _HERE.parents[1]}), seen)
    total = hashlib.sha256(f"{_PLATFORM} {numba.config.BOUNDSCHECK}".encode())
    for path in sorted(seen):
        total.update(path.name.encode() + seen[path])
    return total.hexdigest()[:16]


# Folders: only this user and root may write there


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
        yield Path(caching.AppDirs(appname="cutmatch", appauthor=False).user_cache_dir)
    except Exception:  # there is no home folder
        return


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
    if not _is_ours(path.stat()):
        return False
    for parent in path.parents:
        status = parent.stat()
        if not _is_ours(status) and not (status.st_uid in (0, os.geteuid()) and status.st_mode & stat.S_ISVTX):
            return False  # in a folder with the sticky bit, such as /tmp, other users cannot rename our files
    return True


def _is_ours(status: os.stat_result) -> bool:
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


# Files: one per kernel and argument types


class KernelFiles:
    """The files of one kernel; replaces numba's IndexDataCacheFile.

    A file: MAGIC, the SHA-256 of the rest, and the rest, a pickle of numba's key and the machine code.
    """

    def __init__(self, function, folder: Path):
        source = Path(function.__code__.co_filename).resolve()
        inner = source.relative_to(package_of(source).parent).with_suffix("")
        self.folder = folder
        self.module = ".".join(inner.parts)
        self.digest = source_digest(function)
        name = re.sub(r"[^\w.]", "", function.__qualname__)
        self.name = f"{self.module}-{self.digest}-{name}-{function.__code__.co_firstlineno}"
        self._swept = False

    def path(self, key) -> Path:
        """The file of a numba key (types, processor, bytecode); addresses in the key are removed, as they vary."""
        stable_key = re.sub(r"0x[0-9a-f]+", "", repr(key))
        return self.folder / f"{self.name}-{hashlib.sha256(stable_key.encode()).hexdigest()[:16]}.nbc"

    def load(self, key):
        """The machine code saved for a key; None if there is none or the file is damaged, which is then deleted."""
        path = self.path(key)
        content = self._read(path)
        if content is None:
            return None
        start = len(MAGIC) + hashlib.sha256().digest_size
        body = content[start:]
        if content[:start] != MAGIC + hashlib.sha256(body).digest():
            self.discard(key)
            return None
        saved, data = pickle.loads(body)
        return data if saved == key else None

    def _read(self, path: Path) -> bytes | None:
        """The bytes of a file if it is regular and private to this user or root; else None."""
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except OSError:
            return None
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            return file.read() if stat.S_ISREG(status.st_mode) and _is_ours(status) else None

    def save(self, key, data) -> None:
        """Save machine code atomically."""
        body = dumps((key, data))
        self._sweep()
        descriptor, name = tempfile.mkstemp(prefix=f"{self.module}-", suffix=".part", dir=self.folder)
        try:
            with open(descriptor, "wb") as file:
                file.write(MAGIC + hashlib.sha256(body).digest() + body)
            os.replace(name, self.path(key))
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def discard(self, key) -> None:
        """Delete the file of a key, so that it is compiled and saved again."""
        self.path(key).unlink(missing_ok=True)

    def flush(self) -> None:
        """Delete all files of this kernel."""
        for path in self.folder.glob(f"{self.name}-*.nbc"):
            path.unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Delete the files of all but the newest earlier versions of this module."""
        if self._swept:
            return
        self._swept = True
        newest = {}
        pattern = re.compile(re.escape(self.module) + r"-([0-9a-f]{16})-.*\.nbc")
        files = [(path, match[1]) for path in self.folder.iterdir() if (match := pattern.fullmatch(path.name))]
        for path, digest in files:
            newest[digest] = max(newest.get(digest, 0.0), _modified(path))
        newest.pop(self.digest, None)
        outdated = sorted(newest, key=newest.get, reverse=True)[VERSIONS_KEPT:]
        for path, digest in files:
            if digest in outdated:
                path.unlink(missing_ok=True)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


# Interface to numba


class _Locator:
    """The part of a locator that numba's caches use."""

    def __init__(self, files: KernelFiles):
        self._files = files

    def ensure_cache_path(self):
        """`cache_folder` has created it."""

    def get_cache_path(self):
        return str(self._files.folder)

    def get_source_stamp(self):
        return self._files.digest


class _Implementation:
    """Mixin for numba's CacheImpl, whose own constructor would search for a folder."""

    def __init__(self, function):
        self.files = KernelFiles(function, cache_folder(package_of(function.__code__.co_filename)))
        self._filename_base = self.files.name
        self._locator = _Locator(self.files)


class _Kept:
    """Mixin for numba's Cache: an unreadable, damaged or unwritable file costs a compilation, never an error."""

    def __init__(self, function):
        super().__init__(function)
        self._cache_file = self._impl.files

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # from pickle, LLVM or any module that the file refers to
            self._cache_file.discard(self._index_key(sig, target_context.codegen()))
            return None

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, pickle.PickleError):
            return


class _CpuImplementation(_Implementation, caching.CompileResultCacheImpl):
    pass


class CpuKernelCache(_Kept, caching.FunctionCache):
    """Machine code of one CPU kernel."""

    _impl_class = _CpuImplementation


@cache
def cuda_kernel_cache() -> type:
    """The class for machine code of CUDA kernels; numba.cuda is imported on first use."""
    from numba.cuda.dispatcher import CUDACache, CUDACacheImpl

    class Implementation(_Implementation, CUDACacheImpl):
        pass

    class CudaKernelCache(_Kept, CUDACache):
        _impl_class = Implementation

    return CudaKernelCache


def keep(dispatcher, cache_class) -> None:
    """Enable the disk cache of a numba dispatcher, if there is a folder for it."""
    if os.environ.get("CUTMATCH_CACHE", "1") == "0":
        return
    function = dispatcher.py_func
    try:
        if cache_folder(package_of(function.__code__.co_filename)) is not None:
            dispatcher._cache = cache_class(function)
    except OSError:  # sources that are not plain files
        return
