"""Machine code of kernels on disk: one file per kernel and argument types, and how numba finds it.

A kernel is looked up in two places before it is compiled:

1. the cache folder of this user (gridcut/device/kernel_folders.py), where every kernel that is compiled is saved;
2. the kernels that came with the installed package (gridcut/device/carried_kernels.py), if this processor can run them.

Names of files contain a digest of the sources (gridcut/device/kernel_digest.py).  Each file starts with a digest of its
content; a damaged file is not used, and the kernel is compiled again.  CUTMATCH_CACHE=0 in the environment disables
both places.  `origins` records where the kernels of this process came from.
"""

import hashlib
import os
import pickle
import re
import stat
import tempfile
import time
from functools import cached_property
from pathlib import Path

from gridcut.device import carried_kernels
from gridcut.device.kernel_digest import edited_since, module_of, package_of, source_digest
from gridcut.device.kernel_folders import cache_folder, is_ours
from gridcut.device.numba_internals import CpuCode, dumps, loads, store

VERSIONS_KEPT = 4  # earlier versions of a module's kernels that are kept on disk, for other branches in use
MAGIC = b"cutmatch kernel 1\n"

origins: dict[str, str] = {}  # file name of each kernel of this process: "cached", "carried" or "compiled"


# Files: one per kernel and argument types


class KernelFiles:
    """The files of one kernel.

    A file: MAGIC, the SHA-256 of the rest, and the rest, a pickle of numba's key and the machine code.  Without a
    folder nothing is saved, and only the kernels that came with the package are loaded.
    """

    def __init__(self, function, folder: Path | None):
        self.folder = folder
        self.module = module_of(function.__code__.co_filename)
        self.digest = source_digest(function)
        name = re.sub(r"[^\w.]", "", function.__qualname__)
        self.name = f"{self.module}-{self.digest}-{name}-{function.__code__.co_firstlineno}"
        self._swept = False

    def file_name(self, key) -> str:
        """The name for a numba key (types, processor, bytecode); addresses in the key are removed, as they vary."""
        stable_key = re.sub(r"0x[0-9a-f]+", "", repr(key))
        return f"{self.name}-{hashlib.sha256(stable_key.encode()).hexdigest()[:16]}.nbc"

    def path(self, key) -> Path:
        """The file of a numba key in the cache folder."""
        return self.folder / self.file_name(key)

    def load(self, key):
        """The machine code saved for a key; None if there is none or the file is damaged, which is then deleted."""
        if self.folder is None or (content := _read_private(self.path(key))) is None:
            return None
        if (body := _verified(content)) is None:
            self.discard(key)
            return None
        return _code_for(key, body)

    def load_carried(self, key):
        """The machine code for a key that came with the package; None if there is none or the file is damaged."""
        if carried_kernels.obstacle():
            return None
        key = carried_kernels.portable_key(key)
        try:
            body = _verified((carried_kernels.FOLDER / self.file_name(key)).read_bytes())
        except OSError:
            return None
        return None if body is None else _code_for(key, body)

    def save(self, key, data) -> None:
        """Save machine code atomically, if there is a folder."""
        if self.folder is None:
            return
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
        if self.folder is not None:
            self.path(key).unlink(missing_ok=True)

    def flush(self) -> None:
        """Delete all files of this kernel."""
        for path in self.folder.glob(f"{self.name}-*.nbc") if self.folder else ():
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


def _read_private(path: Path) -> bytes | None:
    """The bytes of a file if it is regular and private to this user or root; else None."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        return file.read() if stat.S_ISREG(status.st_mode) and is_ours(status) else None


def _verified(content: bytes) -> bytes | None:
    """The pickle in the content of a file; None if the file is damaged."""
    start = len(MAGIC) + hashlib.sha256().digest_size
    body = content[start:]
    return body if content[:start] == MAGIC + hashlib.sha256(body).digest() else None


def _code_for(key, body: bytes):
    """The machine code in a pickle; None if it was saved for another key."""
    saved, data = loads(body)
    return data if saved == key else None


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


# What numba calls


class KernelStore:
    """Where numba looks up the machine code of one kernel.

    An unreadable, damaged or unwritable file costs a compilation, never an error.  Sources are read when a kernel is
    first called: a job imports some fifty kernels, of which it calls a few.
    """

    code: type[CpuCode]

    def __init__(self, function):
        self._function = function
        self._imported = time.time()

    @cached_property
    def files(self) -> KernelFiles | None:
        """None for sources that are not plain files, or that may have been edited since they were imported."""
        try:
            if edited_since(self._imported, self._function):
                return None
            return KernelFiles(self._function, cache_folder(package_of(self._function.__code__.co_filename)))
        except OSError:
            return None

    @cached_property
    def _code(self) -> CpuCode:
        return self.code(self._function, module_of(self._function.__code__.co_filename))

    def before_compiling(self) -> None:
        """Called before numba compiles the kernel."""

    @property
    def cache_path(self) -> str:
        """The folder, for the dispatcher's `stats`."""
        return str((self.files and self.files.folder) or "")

    def flush(self) -> None:
        """Delete all files of this kernel."""
        if self.files:
            self.files.flush()

    def load_overload(self, sig, target_context):
        """The compiled kernel for these types; None if it has to be compiled."""
        key = self._code.key(sig, target_context.codegen()) if self.files else None
        found = None if key is None else self.find(key, target_context)
        if found is None:
            self.before_compiling()
        return found

    def save_overload(self, sig, compiled) -> None:
        """Save a compiled kernel."""
        key = self._code.key(sig, compiled.codegen) if self.files else None
        if key is None:
            return
        self.note(key, "compiled")
        try:
            data = self._code.saved(compiled)
            if data is not None:
                self.files.save(key, data)
        except (OSError, EOFError, pickle.PickleError):
            return

    def find(self, key, target_context):
        """The kernel of a key, as it was saved earlier by this user."""
        try:
            with self._code.loading(target_context):
                data = self.files.load(key)
                compiled = None if data is None else self._code.loaded(target_context, data)
        except Exception:  # from pickle, LLVM or any module that the file refers to
            self.files.discard(key)
            return None
        if compiled is not None:
            self.note(key, "cached")
        return compiled

    def note(self, key, origin: str) -> None:
        """Record where a kernel came from."""
        origins[self.files.file_name(key)] = origin


class CpuKernelStore(KernelStore):
    """Machine code of a CPU kernel: saved earlier by this user, or carried by the package."""

    code = CpuCode

    def find(self, key, target_context):
        compiled = super().find(key, target_context)
        if compiled is not None:
            return compiled
        try:
            with self._code.loading(target_context):
                data = self.files.load_carried(key)
                compiled = None if data is None else self._code.loaded(target_context, data)
        except Exception:  # as above; the file is part of the package, so it is not deleted
            return None
        if compiled is not None:
            self.note(carried_kernels.portable_key(key), "carried")
        return compiled


def keep(dispatcher, kernel_store: type[KernelStore]):
    """Store the machine code of a dispatcher on disk, unless the environment disables it; returns the dispatcher."""
    if os.environ.get("CUTMATCH_CACHE", "1") != "0":
        store(dispatcher, kernel_store)
    return dispatcher
