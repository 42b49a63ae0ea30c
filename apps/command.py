"""What the commands have in common: options, running them, and one clear line instead of a traceback."""

import argparse
import contextlib
import json
import os
import sys

from apps.images import InputError

BAD_INPUT = 2  # exit status, as argparse uses for wrong options
SOME_FAILED = 1


def parser(name: str, text: str) -> argparse.ArgumentParser:
    """A parser whose help opens with the module's prose; `name` as in "cutmatch NAME"."""
    return argparse.ArgumentParser(
        prog=f"cutmatch {name}", description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def add_shared_options(options: argparse.ArgumentParser, out: str) -> None:
    """Options every command has: --device, --out, --threads, --json, --quiet."""
    options.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="where cuts and batches are solved"
    )
    options.add_argument("--out", default=out, metavar="FOLDER", help=f"folder for the results (default: {out})")
    options.add_argument("--threads", type=int, metavar="N", help="worker threads (default: one per core)")
    options.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="results as JSON, to FILE or to standard output"
    )
    options.add_argument("--quiet", action="store_true", help="print errors only")


def add_batch_options(options: argparse.ArgumentParser) -> None:
    """Options of commands that take many inputs: --workers, --scheduler, --resume."""
    batch = options.add_argument_group("many inputs")
    batch.add_argument("--workers", type=int, metavar="N", help="processes with one input at a time each")
    batch.add_argument("--scheduler", metavar="ADDRESS", help="a dask.distributed cluster, such as tcp://host:8786")
    batch.add_argument("--resume", action="store_true", help="leave out what an earlier run did with the same result")


def in_batch(many: bool, chosen) -> bool:
    """Whether to treat the inputs as a batch: there are many, or an option of batches is given.

    Raises InputError for a wrong number of workers, and for workers both here and on a cluster.
    """
    if chosen.workers is not None and chosen.workers < 1:
        raise InputError(f"--workers must be 1 or more, got {chosen.workers}")
    if chosen.workers is not None and chosen.scheduler is not None:
        raise InputError("--workers are processes of this machine, --scheduler is a cluster; pass one of them")
    chosen.many = many or chosen.workers is not None or chosen.scheduler is not None or chosen.resume
    return chosen.many


def check_threads(threads: int | None) -> int:
    """Number of worker threads; InputError below 1."""
    if threads is None:
        return os.cpu_count() or 1
    if threads < 1:
        raise InputError(f"--threads must be 1 or more, got {threads}")
    return threads


def limit_threads(threads: int) -> None:
    """Let OpenCV in this process, and kernels started from this thread, use so many threads."""
    import cv2
    import numba

    cv2.setNumThreads(threads)
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))


@contextlib.contextmanager
def limited_threads(threads: int):
    """Limit threads for a while, in a process that is not ours alone."""
    import cv2
    import numba

    before = cv2.getNumThreads(), numba.get_num_threads()
    limit_threads(threads)
    try:
        yield
    finally:
        cv2.setNumThreads(before[0])
        numba.set_num_threads(before[1])


def check_device(device: str) -> None:
    """Refuse a GPU that is not there before any picture is read, and once for all of them."""
    if device == "cuda":
        from gridcut.device import resolve

        resolve(device)


def write_json(target: str, content) -> None:
    """JSON to a file, or to standard output for "-"."""
    from apps.images import write_bytes

    text = json.dumps(content, indent=2) + "\n"
    if target == "-":
        sys.stdout.write(text)
    else:
        write_bytes(target, text.encode())


def reason_of(error: Exception) -> str:
    """What to tell the user of an error, in one line."""
    if isinstance(error, MemoryError) and not str(error):
        return "out of memory; use a smaller picture"
    expected = isinstance(error, InputError | RuntimeError | MemoryError) and str(error)
    return str(error) if expected else f"{type(error).__name__}: {error}"


def run(main, name: str, argv) -> int:
    """Call main(argv); bad input, a missing device and a full memory end as one line and an exit status."""
    if main.__module__ == "__main__":
        # Run as `python -m apps.NAME`: other processes must find the functions and classes under their own names.
        from importlib import import_module

        main = getattr(import_module(f"apps.{name}"), main.__name__)
    try:
        return main(argv)
    except (InputError, RuntimeError, MemoryError) as error:
        print(f"cutmatch {name}: {reason_of(error)}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SOME_FAILED
    except KeyboardInterrupt:
        print(f"cutmatch {name}: stopped", file=sys.stderr)
        return 130
