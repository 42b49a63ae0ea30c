"""Machine code of kernels on disk: one file per kernel and argument types, looked up before numba compiles.

A file is looked for in two folders: this user's, where every kernel that is compiled is saved, and gridcut/_kernels of
a wheel, whose kernels are for all processors of a family.  Whatever fails costs a compilation, never an error.

Right code     numba's own cache checks one source file only, so a kernel would continue to run old code after a change
               of a function that it calls in another file.  Here the name of a file contains a digest of every source
               file that the kernel's module imports, directly or not, and of the versions of Python, numba and NumPy.
               The file repeats its name.
Whole code     A file starts with a digest of its content, and appears whole.  A damaged one is compiled again.
Trusted code   Files hold pickled objects, and loading a pickle runs code.  So a file of the user's folder must belong
               to this user (or root), and no other user may write to it.  Files in gridcut/_kernels are trusted as the
               sources beside them are.

The user's folder is NUMBA_CACHE_DIR of the environment (not `numba.config`: numba reads .numba_config.yaml of the
current folder, which may be another user's folder of images), else the user's folder of caches.
CUTMATCH_CACHE=0 in the environment disables both folders.  `origins` records where kernels came from.
"""

import atexit
import hashlib
import json
import logging
import multiprocessing
import os
import pickle
import platform
import re
import stat
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import llvmlite
import numba
import numpy
from llvmlite import binding
from numba.core import event

from gridcut.device.numba_internals import CpuCode, deferred, dumps, loads, store

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("gridcut", "assign", "matching", "apps")  # in site-packages, there are others beside them
KEPT = 7 * 86400  # seconds for which kernels of other versions of a module are kept, for other branches in use
MAGIC = b"cutmatch kernel 2\n"
STARTED = time.time()

origins: dict[str, str] = {}  # file name of each kernel of this process: "cached", "carried" or "compiled"


# Sources

_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+([\w.]+)(?:[ \t]+import[ \t]+(\([^)]*\)|[^\n#(]*))?", re.M)
_is_file = cache(os.path.isfile)


class Source(NamedTuple):
    """A source file: when it was modified, a digest of it, and the files that it imports."""

    modified: float
    digest: bytes
    imports: list[str]


def versions() -> dict[str, str]:
    """Versions that compiled code depends on; NumPy's without the last number, which keeps the layout of arrays."""
    return {
        "python": "{}.{}".format(*sys.version_info[:2]),
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "numpy": ".".join(numpy.__version__.split(".")[:2]),
    }


@cache
def source(file: str) -> Source:
    """Read a file; its imports are those from its own package and from this project's."""
    with open(file, "rb") as opened:
        modified, content = os.fstat(opened.fileno()).st_mtime, opened.read()
    package = next(folder for folder in Path(file).parents if not (folder.parent / "__init__.py").exists())
    roots = {package.name: package.parent, **dict.fromkeys(PACKAGES, ROOT)}
    imports = []
    for module, names in _IMPORT.findall(content.decode("utf-8", "replace")):
        if module.startswith("."):
            raise OSError(f"{file}: kernels of modules with relative imports are not stored")
        if root := roots.get(module.partition(".")[0]):
            for name in ("", *re.findall(r"\w+", names)):
                path = os.path.join(root, *module.split("."), name).rstrip(os.sep)
                imports += filter(_is_file, (path + ".py", os.path.join(path, "__init__.py")))
    return Source(modified, hashlib.sha256(content).digest(), imports)


@cache
def sources(file: str) -> dict[str, Source]:
    """A file and all files that it imports, directly or not, from its package and this project's."""
    seen, pending = {}, [os.path.realpath(file)]
    while pending:
        file = pending.pop()
        if file not in seen:
            seen[file] = source(file)
            pending += seen[file].imports
    return seen


def files_of(value, seen: set[int]):
    """Yield the files of the functions that a value contains, also in its closures."""
    if id(value) in seen:
        return
    seen.add(id(value))
    value = getattr(value, "py_func", value)
    if isinstance(value, tuple | list):
        for item in value:
            yield from files_of(item, seen)
    elif hasattr(value, "__code__"):
        yield value.__code__.co_filename
        for cell in value.__closure__ or ():
            yield from files_of(cell.cell_contents, seen)


def sources_of(function) -> dict[str, Source]:
    """All sources that a kernel's machine code can depend on; raises OSError if they are not plain files."""
    found: dict[str, Source] = {}
    for file in files_of(function, set()):
        found |= sources(file)
    return found


def digest_of(found: dict[str, Source]) -> str:
    """Sixteen hexadecimal digits that change with these sources and with the versions."""
    total = hashlib.sha256(f"{versions()} {numba.config.BOUNDSCHECK}".encode())
    for file in sorted(found):
        total.update(os.path.basename(file).encode() + found[file].digest)
    return total.hexdigest()[:16]


@cache
def cache_folder() -> Path | None:
    """The user's folder of kernels; None if it is disabled or cannot be written."""
    if os.environ.get("CUTMATCH_CACHE", "1") == "0":
        return None
    try:
        given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(given).absolute() / "cutmatch-kernels"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


# Kernels of a wheel: `cutmatch warmup --portable` compiles them, and setup.py puts them into a wheel.  They are for
# x86-64-v3, the instructions that x86 processors have had since about 2015, or for every ARM processor with Linux.
# about.json says for which versions, so that a folder that does not fit costs no search and its reason can be shown.

X86 = "x86-64-v3"
PROCESSORS = {"x86_64": X86, "AMD64": X86, "aarch64": "generic"}  # by LLVM's names; Linux, Windows, Linux on ARM
CPU = PROCESSORS.get(platform.machine(), "")  # not macOS, where numba's names of kernels contain the system's release
X86_FEATURES = frozenset(("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"))  # beyond x86-64-v2, by LLVM's names
CARRIED = ROOT / "gridcut" / "_kernels"
ABOUT = CARRIED / "about.json"


def about() -> dict[str, str]:
    """Content of about.json for kernels that this process compiles."""
    return {"system": platform.system(), "machine": platform.machine(), "cpu": CPU, **versions()}


@cache
def obstacle() -> str:
    """Why the kernels of the package cannot be used here; an empty string if they can."""
    try:
        made_for = json.loads(ABOUT.read_bytes())
        for name, here in about().items():
            if made_for[name] != here:
                return f"the compiled kernels of this package are for {name} {made_for[name]}; this is {name} {here}"
    except FileNotFoundError:
        return "this installation came without compiled kernels"
    except (OSError, ValueError, KeyError, TypeError):
        return f"{ABOUT} is damaged; reinstall cutmatch"
    if missing := missing_features():
        return f"the compiled kernels of this package need {CPU}; this processor lacks {', '.join(missing)}"
    return ""


def missing_features() -> list[str]:
    """Instructions of `CPU` that this processor lacks, by LLVM's names."""
    if CPU != X86:
        return []
    found = binding.get_host_cpu_features()
    return sorted(name for name in X86_FEATURES if not found.get(name, False))


# What numba calls


class KernelStore:
    """Where numba looks up the machine code of one kernel.

    Sources are read when a kernel is first called: a job imports some fifty kernels, of which it calls a few.
    """

    code: type[CpuCode] = CpuCode
    is_carried = True  # whether wheels contain such kernels

    def __init__(self, function):
        self._function = function

    @cached_property
    def _name(self) -> str:
        """The beginning of the names of this kernel's files; empty if it is not stored.

        A source that was edited since this process started may have been imported before.  A date in the future is of
        another clock.
        """
        function = self._function
        try:
            found = sources_of(function)
        except OSError:
            return ""
        if any(STARTED <= of.modified <= time.time() for of in found.values()):
            return ""
        name = re.sub(r"[^\w.]", "", function.__qualname__)
        return f"{function.__module__}-{digest_of(found)}-{name}-{function.__code__.co_firstlineno}"

    @cached_property
    def _code(self) -> CpuCode:
        return self.code(self._function, self._function.__module__)

    def _file(self, key) -> str:
        """The file name for a numba key (types, processor, bytecode), without addresses in it, which vary."""
        stable = re.sub(r"0x[0-9a-f]+", "", repr(key))
        return f"{self._name}-{hashlib.sha256(stable.encode()).hexdigest()[:16]}.nbc"

    @property
    def cache_path(self) -> str:
        """The folder, for the dispatcher's `stats`."""
        return str(cache_folder() or "")

    def before_compiling(self) -> None:
        """Called before numba compiles the kernel."""

    def flush(self) -> None:
        """numba calls this before it compiles all versions again; files of other sources are never read."""

    def load_overload(self, sig, target_context):
        """The compiled kernel for these types; None if it has to be compiled."""
        with deferred():
            found = self._find(sig, target_context)
        if found is None:
            self.before_compiling()
        return found

    def _find(self, sig, target_context):
        key = self._code.key(sig, target_context.codegen()) if self._name else None
        if key is None:
            return None
        places = [("cached", cache_folder(), key)]
        if self.is_carried and not obstacle():
            types, (triple, _, _), code = key
            places.append(("carried", CARRIED, (types, (triple, CPU, ""), code)))
        for origin, folder, key in places:
            try:
                name = self._file(key)
                content = read(folder / name, origin == "cached")
                with self._code.loading(target_context):
                    saved, data = loads(content)
                    if saved == name:
                        compiled = self._code.loaded(target_context, data)
                        origins[name] = origin
                        return compiled
            except Exception:  # no folder, no file, or a damaged one; also from LLVM and any module in the file
                continue
        return None

    def save_overload(self, sig, compiled) -> None:
        """Save a compiled kernel, if there is a folder, and remove outdated ones of its module."""
        key = self._code.key(sig, compiled.codegen) if self._name else None
        if key is None:
            return
        name, folder = self._file(key), cache_folder()
        origins[name] = "compiled"
        with suppress(OSError, EOFError, pickle.PickleError):
            data = self._code.saved(compiled)
            if data is not None and folder is not None:
                write(folder / name, dumps((name, data)))
                _sweep(folder, *self._name.split("-")[:2])


def is_ours(status: os.stat_result) -> bool:
    """Whether a file belongs to this user or root, and no other user may write to it."""
    others = stat.S_IWGRP | stat.S_IWOTH
    return os.name != "posix" or (status.st_uid in (0, os.geteuid()) and not status.st_mode & others)


def read(path: Path, private: bool) -> bytes:
    """The pickle in a file; OSError if it is damaged or not a file, or `private` and not of this user or root."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        status, content = os.fstat(descriptor), file.read()
    start = len(MAGIC) + hashlib.sha256().digest_size
    if not stat.S_ISREG(status.st_mode) or (private and not is_ours(status)):
        raise OSError(f"{path} may be another user's")
    if content[:start] != MAGIC + hashlib.sha256(content[start:]).digest():
        raise OSError(f"{path} is damaged")
    return content[start:]


def write(path: Path, body: bytes) -> None:
    """Write a file for `read`, atomically."""
    descriptor, name = tempfile.mkstemp(suffix=".part", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(MAGIC + hashlib.sha256(body).digest() + body)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@cache
def _sweep(folder: Path, module: str, digest: str) -> None:
    """Delete the files of earlier versions of a module, but for recent ones."""
    for path in folder.glob(f"{module}-*.nbc"):
        if path.name.split("-")[1] != digest and path.stat().st_mtime < time.time() - KEPT:
            path.unlink(missing_ok=True)


def keep(dispatcher, kernel_store: type[KernelStore] = KernelStore):
    """Store the machine code of a dispatcher on disk, unless the environment disables it; returns the dispatcher."""
    if os.environ.get("CUTMATCH_CACHE", "1") != "0":
        store(dispatcher, kernel_store)
    return dispatcher


# Say that kernels are being compiled, which numba does when they are first called, and count them and the seconds.
#
# A first use compiles for up to a minute.  Once it has compiled for NOTICEABLE seconds, a line says so, and at the end
# of the process another one how long it took.  The lines are warnings of the logger "cutmatch", so Python writes them
# to standard error in a program that has not configured logging.  A level of that logger above WARNING turns them off,
# and so does CUTMATCH_QUIET=1 in the environment.  Processes that multiprocessing has started leave this to their
# parent.

NOTICEABLE = 1.0  # seconds of compiling before the first line

_log = logging.getLogger("cutmatch")


class _Listener(event.Listener):
    """Measures compilations, one at a time in a process; those of callees are inside that of their caller."""

    def __init__(self):
        self.depth, self.since, self.seconds, self.has_said = 0, 0.0, 0.0, False

    def on_start(self, started) -> None:
        if not self.depth:
            self.since = time.perf_counter()
        self.depth += 1
        function = getattr((started.data or {}).get("dispatcher"), "py_func", None)
        is_ours = str(getattr(function, "__module__", "")).partition(".")[0] in PACKAGES
        if is_ours and not self.has_said and compile_seconds() > NOTICEABLE and _says():
            self.has_said = True
            _log.warning(
                "cutmatch: compiling kernels for a first use, once per installation, for up to a minute; "
                "`cutmatch warmup` does it in advance"
            )

    def on_end(self, _) -> None:
        if self.depth:  # else it began before this listener
            self.depth -= 1
            if not self.depth:
                self.seconds += time.perf_counter() - self.since

    def say_end(self) -> None:
        """The second line, after the first."""
        if self.has_said:
            _log.warning("cutmatch: %s, in %.0f s", explained(compiled_kernels()), self.seconds)


def _says() -> bool:
    return os.environ.get("CUTMATCH_QUIET", "0") == "0" and multiprocessing.parent_process() is None


_listener = _Listener()
event.register("numba:compile", _listener)
atexit.register(_listener.say_end)


def compile_seconds() -> float:
    """Seconds in which any thread of this process has compiled."""
    return _listener.seconds + (time.perf_counter() - _listener.since if _listener.depth else 0.0)


def compiled_kernels() -> int:
    """Number of kernels that this process has compiled and that are kept, one for each file."""
    return list(origins.values()).count("compiled")


def is_compiling() -> bool:
    """Whether a thread of this process compiles."""
    return _listener.depth > 0


def explained(count: int) -> str:
    """Text about compiled kernels: where they are kept, and why they did not come with the installation."""
    reason, folder = obstacle(), cache_folder()
    kept = f"kept in {folder}" if folder else "not kept, as no folder for them is writable"
    return f"{count} kernels were compiled and {kept}" + (f" ({reason})" if reason else "")
