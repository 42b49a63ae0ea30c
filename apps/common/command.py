"""Shared parts of the commands: options, their validation, JSON output, and one-line errors."""

import argparse
import contextlib
import json
import logging
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

from apps.common.errors import InputError, write_output

if TYPE_CHECKING:  # it imports numba
    from gridcut.device import DeviceName

# Options that name an output file, and its suffix.
SUFFIX_OF = {"json": ".json", "report": ".html"}


class _Parser(argparse.ArgumentParser):
    """Argument parser that explains how to pass a value that starts with a hyphen, and which option was meant."""

    def error(self, message):
        if message.startswith("argument --") and message.endswith("expected one argument"):
            option = message.split()[1].rstrip(":")
            message += f" (a value that starts with - is written {option}=-...)"
        if message.startswith("unrecognized arguments: -"):
            from apps.common.suggestions import meant

            wrong = message.split()[2].partition("=")[0]
            message += f";{hint}" if (hint := meant(wrong, self._option_string_actions)) else ""
        super().error(message)

    def _print_message(self, message, file=None):
        with contextlib.suppress(BrokenPipeError):  # a reader that has exited; newer versions of Python ignore it too
            super()._print_message(message, file)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """The description as it is, and defaults after the help of options that do not say theirs."""

    def _get_help_string(self, action):
        text, default = action.help, action.default
        if not default or default is argparse.SUPPRESS or action.nargs == 0 or "(default" in text:
            return text
        return f"{text} (default: %(default)s)"


def parser(name: str, text: str) -> argparse.ArgumentParser:
    """Parser of "cutmatch NAME" whose help starts with `text`, the module's docstring."""
    return _Parser(prog=f"cutmatch {name}", description=text, formatter_class=_Formatter)


def parsed(options: argparse.ArgumentParser, argv) -> argparse.Namespace:
    """Parse the options in `argv`.

    Raises InputError for an empty name, and for an output file with the suffix of another kind of file.  Otherwise
    `--json` before an image would overwrite the image with the report.
    """
    chosen = options.parse_args(argv)
    if getattr(chosen, "quiet", False):
        logging.getLogger("cutmatch").setLevel(logging.ERROR)
    for name, value in vars(chosen).items():
        if "" in (value if isinstance(value, list | tuple) else [value]):
            shown = spelled(name) if spelled(name) in options.format_usage() else name
            raise InputError(f"{shown} is empty; pass a value (. is the current folder)")
        suffix = SUFFIX_OF.get(name)
        if suffix and value not in (None, "-") and Path(value).suffix.lower() != suffix:
            hint = "; for standard output write --json=- or put --json last" if name == "json" else ""
            raise InputError(f"{spelled(name)}: {value!r} must end in {suffix}{hint}")
    return chosen


def three_numbers(text: str) -> tuple[float, ...]:
    """Parse three numbers separated by commas, for argparse."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if len(values) != 3:
        raise argparse.ArgumentTypeError(f"needs three numbers, such as 2.5,1,1, got {text!r}")
    return values


def spelled(option: str) -> str:
    """An option as it is written on the command line."""
    return f"--{option.replace('_', '-')}"


def passed(chosen: argparse.Namespace, *options: str) -> list[str]:
    """Those of the options that are neither missing, off nor the number 0, as they are spelled."""
    values = vars(chosen)
    unset = [values[option] is None or (isinstance(values[option], int) and not values[option]) for option in options]
    return [spelled(option) for option, is_unset in zip(options, unset, strict=True) if not is_unset]


def add_json_option(options: argparse.ArgumentParser) -> None:
    """Add --json, and --overwrite for the file that it names."""
    options.add_argument("--json", nargs="?", const="-", metavar="FILE", help="write FILE.json, or print JSON")
    options.add_argument("--overwrite", action="store_true", help="replace existing files, but never an input")


def add_shared_options(options: argparse.ArgumentParser, command: str) -> None:
    """Add the options of all commands that process inputs."""
    batch = options.add_argument_group("many inputs")
    engine, again = batch.add_mutually_exclusive_group(), batch.add_mutually_exclusive_group()
    engine.add_argument("--workers", type=int, metavar="N", help="number of processes, each with one input at a time")
    where = "address of a dask.distributed cluster: tcp://host:8786"
    engine.add_argument("--scheduler", metavar="ADDRESS", help=where)
    again.add_argument("--resume", action="store_true", help="skip what an earlier run with these options finished")
    what = f"do not write NAME-{command}.json: versions, options, inputs, energy and seconds of each result"
    again.add_argument("--no-record", dest="record", action="store_false", help=what)
    batch.add_argument("--report", metavar="FILE", help="write FILE.html: all results, their scores and times")
    options.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="where to solve")
    options.add_argument("--out", default="out", metavar="FOLDER", help="folder for the results")
    options.add_argument("--threads", type=int, metavar="N", help="number of threads (default: one per core)")
    add_json_option(options)
    options.add_argument("--quiet", action="store_true", help="print errors only")


def check_threads(threads: int | None) -> int:
    """Number of threads to use; InputError below 1 and above the solvers' maximum."""
    if threads is None:
        return os.cpu_count() or 1
    from gridcut.device.arguments import MAX_THREADS

    if threads < 1:
        raise InputError(f"--threads must be 1 or more, got {threads}")
    if threads > MAX_THREADS:
        raise InputError(f"--threads must be at most {MAX_THREADS}, got {threads}")
    return threads


def limit_threads(threads: int) -> None:
    """Limit OpenCV in this process, and kernels started from this thread, to `threads` threads."""
    import cv2
    import numba

    cv2.setNumThreads(threads)
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))


@contextlib.contextmanager
def limited_threads(threads: int):
    """Context manager that limits threads as `limit_threads` does and restores the previous limits."""
    import cv2
    import numba

    before = cv2.getNumThreads(), numba.get_num_threads()
    limit_threads(threads)
    try:
        yield
    finally:
        cv2.setNumThreads(before[0])
        numba.set_num_threads(before[1])


def check_device(device: "DeviceName") -> None:
    """Raise an error if the GPU requested is not available, once and before any image is read."""
    if device == "cuda":
        from gridcut.device import resolve

        resolve(device)


def write_json(target: str, content) -> None:
    """Write JSON to a file, or to standard output for "-"; numbers that are not finite become null."""
    from apps.common.writing import write_bytes

    text = json.dumps(finite(content), indent=2, allow_nan=False) + "\n"
    if target != "-":
        write_bytes(target, text.encode(), "--json")
    else:
        write_output(text)


def finite(value):
    """A copy of lists and dicts in which numbers that are not finite, which JSON cannot represent, are None."""
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
