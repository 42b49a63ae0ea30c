"""Decorators of CPU kernels, and the folder their machine code is kept in.

numba's own cache looks at one source file only, so a kernel would go on running old code after a function it
calls in another file has changed.  Here every kernel of a package is kept in one folder named after a digest
of *all* the sources of that package (and of this one): after any edit the folder is a new one.  The folder
lies in NUMBA_CACHE_DIR if that is set, else in the package's own __pycache__, else (installed read-only) in
the user's cache folder. CUTMATCH_CACHE=0 in the environment turns the cache off.
"""

import hashlib
import os
import pickle
import re
import shutil
import sys
import threading
from functools import cache, update_wrapper
from pathlib import Path

import numba
from numba.core import caching, sigutils

KEEP = 4  # folders of earlier digests left for other branches and versions that are still in use

_HERE = Path(__file__).resolve().parent
_layer_lock = threading.Lock()


def kernel(function):
    """njit without the GIL, machine code kept on disk."""
    return _cached(numba.njit(nogil=True)(function))


def parallel_kernel(function):
    """njit with prange; safe to call from several threads at once, whatever threading layer numba found."""
    return _cached_parallel(_cached(numba.njit(nogil=True, parallel=True)(function)))


def _cached_parallel(dispatcher):
    if not hasattr(dispatcher, "py_func"):  # NUMBA_DISABLE_JIT=1 leaves plain functions
        return dispatcher

    def call(*args):
        # The workqueue layer aborts the process when two threads enter it; others take concurrent calls.
        if _layer() in ("omp", "tbb"):
            return dispatcher(*args)
        with _layer_lock:
            return dispatcher(*args)

    update_wrapper(call, dispatcher.py_func)
    call.dispatcher = dispatcher
    call.py_func = dispatcher.py_func
    return call


def _layer() -> str:
    """numba's threading layer, or '' before the first parallel call has chosen one."""
    try:
        return numba.threading_layer()
    except ValueError:
        return ""


def _cached(dispatcher):
    if hasattr(dispatcher, "py_func") and os.environ.get("CUTMATCH_CACHE", "1") != "0":
        folder = cache_folder(_package_of(dispatcher.py_func.__code__.co_filename))
        if folder is not None:
            dispatcher._cache = _Cache(dispatcher.py_func)
    return dispatcher


def _package_of(filename: str) -> Path:
    """The topmost package folder that holds a source file."""
    folder = Path(filename).resolve().parent
    while (folder.parent / "__init__.py").exists():
        folder = folder.parent
    return folder


@cache
def digest(package: Path) -> str:
    """Sixteen hexadecimal digits that change with any source of `package` and of gridcut.device."""
    total = hashlib.sha256(f"{sys.version_info[:2]} {numba.__version__} {numba.config.BOUNDSCHECK}".encode())
    for root in (package, _HERE):
        for path in sorted(root.rglob("*.py")):
            total.update(path.relative_to(root).as_posix().encode())
            total.update(path.read_bytes())
    return total.hexdigest()[:16]


@cache
def cache_folder(package: Path) -> Path | None:
    """The writable folder for the kernels of `package`; None if there is none."""
    try:
        name = f"{package.name}-{digest(package)}"
    except OSError:  # sources are not plain files
        return None
    for base in _bases(package):
        folder = base / name
        try:
            fresh = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK | os.X_OK):
                if fresh:
                    _remove_stale(base, package.name, folder)
                return folder
        except OSError:
            continue
    return None


def _bases(package: Path):
    if numba.config.CACHE_DIR:
        yield Path(numba.config.CACHE_DIR)
        return
    yield package / "__pycache__"
    try:
        yield Path(caching.AppDirs(appname="cutmatch", appauthor=False).user_cache_dir)
    except Exception:  # no home folder at all
        return


def _remove_stale(base: Path, package: str, current: Path) -> None:
    """Delete all but the KEEP newest folders of other digests."""
    pattern = re.compile(re.escape(package) + r"-[0-9a-f]{16}")
    others = [path for path in base.iterdir() if path != current and pattern.fullmatch(path.name)]

    def age(path):
        try:
            return path.stat().st_mtime
        except OSError:
            return 0.0

    for path in sorted(others, key=age, reverse=True)[KEEP:]:
        shutil.rmtree(path, ignore_errors=True)


class _Locator(caching._CacheLocator):
    """Where numba finds the machine code of one function: the package's folder of this digest."""

    def __init__(self, py_func, py_file):
        self._py_file = py_file
        package = _package_of(py_file)
        inner = Path(py_file).resolve().parent.relative_to(package)
        self._folder = cache_folder(package)
        self._stamp = digest(package)
        self._disambiguator = "-".join([*inner.parts, str(py_func.__code__.co_firstlineno)])

    @classmethod
    def from_function(cls, py_func, py_file):
        return cls(py_func, py_file)

    def get_cache_path(self):
        return str(self._folder)

    def get_source_stamp(self):
        return self._stamp

    def get_disambiguator(self):
        return self._disambiguator


def keep_cuda_kernel(dispatcher):
    """Keep the machine code of a CUDA kernel as that of a CPU kernel."""
    if os.environ.get("CUTMATCH_CACHE", "1") != "0":
        from numba.cuda.dispatcher import CUDACache, CUDACacheImpl

        class Impl(CUDACacheImpl):
            _locator_classes = [_Locator]

        class Cache(_Forgiving, CUDACache):
            _impl_class = Impl

        if cache_folder(_package_of(dispatcher.py_func.__code__.co_filename)) is not None:
            dispatcher._cache = Cache(dispatcher.py_func)
    return dispatcher


class _CacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _Forgiving:
    """A broken or unwritable file costs a compilation, never an error."""

    def load_overload(self, sig, target_context):
        try:
            found = super().load_overload(sig, target_context)
        except (OSError, EOFError, pickle.UnpicklingError):
            return None
        # Two processes that compile one kernel for different types at the same time may give both the same file.
        args, _ = sigutils.normalize_signature(sig)
        return found if found is not None and tuple(found.signature.args) == tuple(args) else None

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, pickle.UnpicklingError):
            return


class _Cache(_Forgiving, caching.FunctionCache):
    """numba's cache with our folder."""

    _impl_class = _CacheImpl
