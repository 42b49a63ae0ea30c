"""Write files atomically: completely or not at all.

A file is written under a random temporary name in the folder of its target, then renamed.  The temporary file is
created exclusively, so that an existing file or link of that name is never followed.  A replaced file keeps its mode.
A link is kept and its target replaced if the link belongs to this user or to root.  Special files, such as /dev/null or
a FIFO, are opened and written instead.
"""

import contextlib
import errno
import io
import os
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from apps.common.clock import timed
from apps.common.errors import BAD_INPUT, DISK_FULL_ERRNOS, SOME_FAILED, OutputError
from apps.common.image_metadata import NO_METADATA, Metadata
from apps.common.row_blocks import ONE_BLOCK_PIXELS

PREFIX, SUFFIX = ".cutmatch-", ".part"
FIFO_TIMEOUT = 10.0  # seconds to wait for the reader of a FIFO
PROBE_BYTES = 1 << 16  # written to test whether a disk is full
MAX_LINKS = 40  # as Linux allows
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


@timed("write")
def write_image(path, pixels, option: str = "--out", metadata: Metadata = NO_METADATA) -> Path:
    """Write grey, RGB or RGBA pixels atomically; the suffix determines the format."""
    path = Path(path)
    return write_bytes(path, encoded_image(pixels, path.suffix, metadata), option)


def encoded_image(pixels, suffix: str, metadata: Metadata = NO_METADATA, **options) -> bytes:
    """Content of an image file of 8 bits, or 16 bits grey; `options` are those of Pillow's `save`."""
    from PIL import Image

    buffer = io.BytesIO()
    kind = Image.registered_extensions().get(suffix.lower(), "PNG")
    if kind == "PNG" and not options and (content := _large_png(pixels, metadata)) is not None:
        return content
    # Level 1 is three times as fast as Pillow's default, and a tenth larger.
    options |= {"compress_level": 1} if kind == "PNG" else {}
    Image.fromarray(pixels).save(buffer, format=kind, **options, **metadata.options(pixels))
    return buffer.getvalue()


def _large_png(pixels, metadata: Metadata) -> bytes | None:
    """Content of a large PNG file, compressed on all threads; None for a small one, which Pillow writes."""
    shape: tuple[int, ...] = getattr(pixels, "shape", ())
    if len(shape) < 2 or shape[0] * shape[1] <= ONE_BLOCK_PIXELS or pixels.dtype not in ("uint8", "uint16"):
        return None
    from apps.common.png_blocks import Figure, encoded_figures

    return encoded_figures([Figure(lambda first, last: pixels[first:last], shape, metadata)])[0]


@timed("write")
def write_bytes(path, data: bytes, option: str = "--out") -> Path:
    """Write a file atomically; OutputError, naming the option, if that fails."""
    path = Path(path)
    with reported(path, option):
        target = target_of(path)
        if isinstance(target, int) or is_special(target):
            _write_in_place(target, data)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_name(_unfinished_name())
            descriptor = os.open(unfinished, CREATE, 0o666)  # fails if the name exists
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                _replace(unfinished, target)
            except BaseException:
                with contextlib.suppress(OSError):
                    unfinished.unlink()
                raise
    return path


@contextlib.contextmanager
def written_by_name(path, option: str = "--out") -> Iterator[Path]:
    """For writers that open a file by name: yield a temporary path with the same suffix, renamed to `path` at the end.

    The temporary path is in a new folder next to the target, with access for this user only.  It is removed if the
    block raises.  Raises OutputError, naming the option, if the file cannot be written.
    """
    path = Path(path)
    with reported(path, option):
        target = target_of(path)
        adjacent = None if isinstance(target, int) or is_special(target) else target
        if adjacent is not None:
            adjacent.parent.mkdir(parents=True, exist_ok=True)
            folder = adjacent.with_name(_unfinished_name())
            folder.mkdir(0o700)
        else:
            folder = Path(tempfile.mkdtemp())
        try:
            unfinished = folder / f"file{path.suffix}"
            yield unfinished
            if adjacent is not None:
                _replace(unfinished, adjacent)
            else:
                _write_in_place(target, unfinished.read_bytes())
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def written_folder(path, option: str = "--out") -> Iterator[Path]:
    """For results that are folders: yield a temporary folder next to `path`, renamed to it at the end.

    A folder of that name is replaced.  The temporary folder is removed if the block raises.  Raises OutputError, naming
    the option, if the folder cannot be written.
    """
    path = Path(path)
    with reported(path, option):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished, replaced = (path.with_name(_unfinished_name()) for _ in range(2))
        unfinished.mkdir()
        try:
            yield unfinished
            if path.is_dir():
                path.rename(replaced)
            try:
                unfinished.rename(path)
            except OSError:
                if replaced.is_dir():
                    replaced.rename(path)
                raise
        finally:
            for folder in (unfinished, replaced):
                shutil.rmtree(folder, ignore_errors=True)


def remove_unfinished(folder: Path, process: int) -> None:
    """Remove the temporary files of a killed process from a folder."""
    for path in folder.glob(f"{PREFIX}{process}-*{SUFFIX}"):
        with contextlib.suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()


def target_of(path: Path) -> Path | int:
    """The file that `path` refers to after following links, or the number of an open descriptor.

    Raises PermissionError for a link that belongs to another user.
    """
    for _ in range(MAX_LINKS):
        if path.name.isdigit() and os.path.realpath(path.parent) == f"/proc/{os.getpid()}/fd":
            return int(path.name)  # /dev/stdout and /dev/fd/N
        try:
            info = os.lstat(path)
        except FileNotFoundError:
            return path
        if not stat.S_ISLNK(info.st_mode):
            return path
        if info.st_uid not in (os.geteuid(), 0):
            raise PermissionError(errno.EACCES, "a link that belongs to another user", str(path))
        path = path.parent / os.readlink(path)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def is_special(path) -> bool:
    """Whether `path` exists and is neither a regular file nor a folder: a device, a FIFO or a socket."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextlib.contextmanager
def reported(path, option: str):
    """Convert OSError to an OutputError that names the option, the path and the reason."""
    try:
        yield
    except OSError as error:
        full = error.errno in DISK_FULL_ERRNOS
        hint = "free some space, or choose another folder" if full else "choose a writable folder"
        shown = str(path)
        if error.errno == errno.ENAMETOOLONG:
            hint, shown = "shorten the name", f"{shown[:40]}..."
        reason = error.strerror or str(error)
        status = SOME_FAILED if full else BAD_INPUT
        raise OutputError(f"{option}: cannot write {shown!r} ({reason}); {hint}", status) from None


def check_space(folder: Path, size: int = PROBE_BYTES) -> None:
    """Raise OSError if the folder has no space for a file of `size` bytes; for libraries that do not report why."""
    with open(folder / "room", "wb") as file:
        file.write(bytes(size))
        file.flush()
        os.fsync(file.fileno())


def _unfinished_name() -> str:
    """Unpredictable temporary name, with the process number for `remove_unfinished`."""
    return f"{PREFIX}{os.getpid()}-{secrets.token_hex(8)}{SUFFIX}"


def _replace(unfinished: Path, target: Path) -> None:
    """Rename over the target, keeping the mode and, if permitted, the owner of the replaced file."""
    try:
        old = os.stat(target)
    except FileNotFoundError:
        old = None
    if old is not None and stat.S_ISREG(old.st_mode):
        with contextlib.suppress(OSError):
            new = os.stat(unfinished)
            if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
                os.chown(unfinished, old.st_uid, old.st_gid)
        os.chmod(unfinished, stat.S_IMODE(old.st_mode))
    unfinished.replace(target)


def _write_in_place(target: Path | int, data: bytes) -> None:
    """Write to an open descriptor, or to a special file that cannot be replaced."""
    if isinstance(target, int):
        sys.stdout.flush()  # keep the order of the output
        descriptor = os.dup(target)
    elif stat.S_ISFIFO(os.stat(target).st_mode):
        descriptor = _open_fifo(target)
    else:
        descriptor = os.open(target, os.O_WRONLY | getattr(os, "O_NOCTTY", 0))
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _open_fifo(target: Path) -> int:
    """Open a FIFO for writing once it has a reader; OSError after FIFO_TIMEOUT."""
    deadline = time.monotonic() + FIFO_TIMEOUT
    while True:
        try:
            descriptor = os.open(target, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > deadline:
                raise OSError(errno.ENXIO, "a pipe without a reader", str(target)) from None
            time.sleep(0.05)
        else:
            os.set_blocking(descriptor, True)
            return descriptor
