"""Errors of the commands: a one-line message on standard error, and an exit status.

    0    done
    1    some inputs of a batch failed, or the disk is full
    2    the input, an option or the machine cannot be used
    70   a defect in cutmatch: a result that fails its own certificate, or an unexpected error
    130  stopped by Ctrl-C

CUTMATCH_TRACEBACK=1 prints the traceback of an unexpected error as well.
"""

import contextlib
import errno
import os
import sys
import traceback
from pathlib import Path

BAD_INPUT = 2  # as argparse uses for wrong options
SOME_FAILED = 1
DEFECT = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # 128 + SIGINT, as shells report it

DISK_FULL_ERRNOS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))
DEFECT_NOTICE = "this is a defect in cutmatch, please report it"
ESCAPED = {code: repr(chr(code))[1:-1] for code in (*range(32), 127, 0x85, 0x2028, 0x2029)}
ROOT = Path(__file__).resolve().parents[2]


class InputError(ValueError):
    """An argument cannot be used; the one-line message names it and what is accepted."""


class OutputError(InputError):
    """A result cannot be written; `status` is the exit status to return."""

    def __init__(self, message: str, status: int = BAD_INPUT):
        super().__init__(message)
        self.status = status


def reason_of(error: BaseException) -> str:
    """One-line message for an error."""
    text = " ".join(str(error).split())
    if _is_certificate_error(error):
        return f"{DEFECT_NOTICE}: {text}"
    if _is_out_of_memory(error):
        return text if isinstance(error, MemoryError) and text else "out of memory; use a smaller image"
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f" {os.fsdecode(error.filename)!r}"
        return f"cannot use{where or ' a file'} ({error.strerror})"
    if isinstance(error, InputError | RuntimeError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def is_defect(error: BaseException) -> bool:
    """Whether an error is a defect of this program rather than of its input or the machine."""
    if _is_certificate_error(error) or isinstance(error, RecursionError | NotImplementedError):
        return True
    return not (isinstance(error, InputError | RuntimeError | OSError | KeyboardInterrupt) or _is_out_of_memory(error))


class Ending:
    """The exit status of a command."""

    status = 0


@contextlib.contextmanager
def ending(name: str):
    """Context manager for a command: an error is printed as one line that starts with `name`, and sets the status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # file names that the terminal cannot show
    end = Ending()
    try:
        yield end
    except BrokenPipeError:  # the reader of the output has exited
        _abandon(sys.stdout)
        end.status = SOME_FAILED
    except KeyboardInterrupt:
        print_error(f"{name}: stopped")
        end.status = INTERRUPTED
    except SystemExit:  # argparse has printed help or an error
        _flush(name)
        raise
    except Exception as error:
        end.status = report_error(name, error)
    end.status = _flush(name) or end.status


def print_error(line: str) -> None:
    """Print a line on standard error, if possible."""
    with contextlib.suppress(OSError, ValueError):
        print(one_line(line), file=sys.stderr)


def one_line(text: str) -> str:
    """The text with line breaks and other control characters, as file names may contain, in escaped form."""
    return text.translate(ESCAPED)


def print_lines(*lines: str) -> None:
    """Print lines on standard output; a reader that has exited, such as head, does not stop the work.

    Raises OutputError if the lines cannot be written for another reason.
    """
    with contextlib.suppress(BrokenPipeError):
        write_output("".join(f"{line}\n" for line in lines))


def write_output(text: str) -> None:
    """Write to standard output.

    Raises BrokenPipeError if the reader has exited, OutputError if the text cannot be written for another reason.
    """
    try:
        print(text, end="", flush=True)
    except OSError as error:
        _abandon(sys.stdout)
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputError(_unwritable(error), SOME_FAILED) from error


def report_error(name: str, error: Exception) -> int:
    """Print an error as one line that starts with `name`; return the exit status."""
    text, defect = reason_of(error), is_defect(error)
    if defect and not text.startswith(DEFECT_NOTICE):
        text = f"{DEFECT_NOTICE}: {text}{_location(error)}"
    if defect and os.environ.get("CUTMATCH_TRACEBACK", "0") not in ("", "0"):
        traceback.print_exception(error)
    print_error(f"{name}: {text}")
    if defect:
        return DEFECT
    if isinstance(error, OSError) and error.errno in DISK_FULL_ERRNOS:
        return SOME_FAILED
    return getattr(error, "status", BAD_INPUT)


def _location(error: Exception) -> str:
    """File and line of this distribution that raised an unexpected error."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(ROOT) and "site-packages" not in path.relative_to(ROOT).parts:
            return f" ({path.relative_to(ROOT)}, line {frame.lineno})"
    return ""


def _is_certificate_error(error: BaseException) -> bool:
    # Not imported, since that loads numba; a module that is not loaded cannot have raised its error.
    module = sys.modules.get("gridcut.device.arguments")
    return module is not None and isinstance(error, module.CertificateError)


def _is_out_of_memory(error: BaseException) -> bool:
    is_of_opencv = type(error).__module__ == "cv2" and "memory" in str(error).lower()
    return isinstance(error, MemoryError) or is_of_opencv


def _flush(name: str) -> int:
    """Flush both streams; return an exit status if that fails for a reason other than a reader that has exited."""
    status = 0
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError) as error:  # a ValueError: it was closed in the meantime
            _abandon(stream)
            if stream is sys.stdout and isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                print_error(f"{name}: {_unwritable(error)}")
                status = SOME_FAILED
    return status


def _unwritable(error: OSError) -> str:
    return f"cannot write to standard output ({error.strerror})"


def _abandon(stream) -> None:
    """Redirect the buffered output of a stream to the null device, so that the interpreter can flush it at exit."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nothing, stream.fileno())
        finally:
            os.close(nothing)
