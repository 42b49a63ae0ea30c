"""Ledgers: the files that a command created in a folder, and the inputs that they result from.

    FOLDER/.cutmatch/COMMAND/NAME.made   {"source": paths of the input, "files": names of the results}
    FOLDER/.cutmatch/COMMAND.made        the same for files named by options: --table, --report, ...

A result is replaced only by the same command from the same input.  That is the same path relative to the folder, after
links, so an edited input may be processed again, and a project may move.  A pair has the paths of both images.

Several processes may write the same item.  The lock of its ledger is held from its first result to its last one.
"""

import errno
import hashlib
import json
import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from apps.common.errors import InputError
from apps.common.file_lock import FileLock
from apps.common.writing import reported, write_bytes

FOLDER = ".cutmatch"
FOLDER_SUFFIXES = (".zarr",)  # results that are folders
UPLOAD = "upload "  # in the place of a path: then the digest of the content
MAX_NAME_BYTES = 255  # bytes of a file name in all common file systems
MAX_KEY_BYTES = 200  # bytes of a ledger's or record's name; a longer one is replaced by its digest

_item = threading.local()  # the locks that this thread holds for its item


@contextmanager
def one_item() -> Iterator[None]:
    """Hold the locks that `claim` acquires in this thread until the block ends, when all results are written."""
    with ExitStack() as locks:
        _item.locks, _item.ledgers = locks, set()
        try:
            yield
        finally:
            del _item.locks, _item.ledgers


def claim(chosen, command: str, name: str, source, files: Iterable[Path]) -> None:
    """Add the results of an item to the ledger, just before they are written to --out.

    Raises InputError as `check_own_files` does.  Waits while another process writes results of this name.
    """
    out = Path(chosen.out)
    files = [path for path in files if path.parent == out]
    check_own_files(chosen, command, name, source, files)  # creates no folder for what it rejects
    ledger = ledger_of(out, command, name)
    with ExitStack() as short:
        if ledger not in getattr(_item, "ledgers", ()):
            getattr(_item, "locks", short).enter_context(locked(ledger))
            ledgers: set[Path] = getattr(_item, "ledgers", set())
            ledgers.add(ledger)
        check_own_files(chosen, command, name, source, files)
        add_to_ledger(ledger, _origin(source, out), [path.name for path in files])


def check_own_files(chosen, command: str, name: str, source, files: Iterable[Path]) -> None:
    """Raise InputError if a file exists that this command did not create from this input, unless `chosen.overwrite`.

    source   path of the input, the two paths of a pair, a text for an input that is no file; None accepts any input
    """
    out = Path(chosen.out)
    there = {path: info for path in files if (info := stat_of(path, "--out")) is not None}
    if not there or getattr(chosen, "overwrite", False):
        return
    made_from, ours = read_ledger(ledger_of(out, command, name))
    for path, info in there.items():
        if path.name not in ours or not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)):
            why = f"was not created by an earlier run of cutmatch {command}"
        elif made_from and source is not None and made_from != _origin(source, out):
            shown = (one if one.startswith(UPLOAD) else os.path.normpath(out / one) for one in made_from)
            why = f"was created from {' and '.join(map(repr, shown))}"
        else:
            continue
        raise InputError(
            f"--out: {str(path)!r} already exists and {why}; choose another folder, or pass --overwrite to replace it"
        )


def results_in(folder: Path) -> set[str]:
    """Names of all files in a folder that are listed in its ledgers and records."""
    ours = set()
    for ledger in (folder / FOLDER).glob("**/*.made"):
        ours |= read_ledger(ledger)[1]
    for record in (folder / FOLDER).glob("*/*.json"):
        ours |= _recorded(record)
    return ours


def key_of(name: str) -> str:
    """Name of the ledger and the record of an item: the item's name, or its digest if that is too long."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= MAX_KEY_BYTES else hashlib.sha256(encoded).hexdigest()


def is_plain_name(name) -> bool:
    """Whether `name` is a plain file name without a path."""
    return isinstance(name, str) and name not in ("", ".", "..") and "/" not in name and "\0" not in name


def stat_of(path: Path, option: str):
    """Status of a file or of a link itself; None if it does not exist, InputError for a folder of another kind."""
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        if max(len(os.fsencode(part)) for part in path.parts) > MAX_NAME_BYTES:
            with reported(path, option):
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG)) from None
        return None
    except OSError:
        with reported(path, option):
            raise
    if stat.S_ISDIR(info.st_mode) and path.suffix not in FOLDER_SUFFIXES:
        raise InputError(f"{option}: cannot write {str(path)!r} (it is a folder); choose another name")
    return info


def identity_of(path: Path):
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    return info.st_dev, info.st_ino


def path_below(path, folder) -> str:
    """Path relative to a folder, after links; absolute if they are on different drives."""
    try:
        return Path(os.path.relpath(os.path.realpath(path), os.path.realpath(folder))).as_posix()
    except ValueError:
        return os.path.realpath(path)


def _origin(source, folder: Path) -> list[str]:
    """The parts of an input, as a ledger in a folder states them."""
    given = source if isinstance(source, tuple) else () if source is None else (source,)
    return [one if isinstance(one, str) else path_below(one, folder) for one in given]


@contextmanager
def locked(ledger: Path) -> Iterator[None]:
    """Hold the lock of a ledger among processes; waits while another one holds it."""
    lock = FileLock(ledger.with_name(f"{ledger.name}.lock"))
    lock.acquire(wait=True)
    try:
        yield
    finally:
        lock.release()


def ledger_of(folder: Path, command: str, name: str | None = None) -> Path:
    base = folder / FOLDER
    return base / f"{command}.made" if name is None else base / command / f"{key_of(name)}.made"


def read_ledger(ledger: Path) -> tuple[list[str], set[str]]:
    try:
        content = json.loads(ledger.read_bytes())
        source, names = content["source"], content["files"]
        if isinstance(source, list) and isinstance(names, list):
            return [one for one in source if isinstance(one, str)], set(filter(is_plain_name, names))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):  # missing, or not written by this program
        pass
    return [], set()


def _recorded(record: Path) -> set[str]:
    """Names of the results in a record of `apps.many.records`."""
    try:
        return set(filter(is_plain_name, json.loads(record.read_bytes())["outputs"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()


def add_to_ledger(ledger: Path, origin: list[str], names: list[str]) -> None:
    before, known = read_ledger(ledger)
    if before != origin:
        known = set()  # the files of another input do not belong to this one
    if names and not known.issuperset(names):
        _write_ledger(ledger, origin, known | set(names))


def remove_from_ledger(ledger: Path, name: str) -> None:
    """Remove a file that was not created; without effect on a full disk."""
    origin, known = read_ledger(ledger)
    with suppress(OSError):
        if known == {name}:
            ledger.unlink()
        elif name in known:
            _write_ledger(ledger, origin, known - {name})


def _write_ledger(ledger: Path, origin: list[str], names: set[str]) -> None:
    write_bytes(ledger, json.dumps({"source": origin, "files": sorted(names)}).encode())
