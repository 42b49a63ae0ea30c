"""What the commands have in common: options, running them, and one clear line instead of a traceback."""

import argparse
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


def check_threads(threads: int | None) -> int:
    """Number of worker threads; InputError below 1."""
    if threads is None:
        return os.cpu_count() or 1
    if threads < 1:
        raise InputError(f"--threads must be 1 or more, got {threads}")
    return threads


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


def run(main, name: str, argv) -> int:
    """Call main(argv); bad input, a missing device and a full memory end as one line and an exit status."""
    try:
        return main(argv)
    except InputError as error:
        print(f"cutmatch {name}: {error}", file=sys.stderr)
        return BAD_INPUT
    except (RuntimeError, MemoryError) as error:
        reason = str(error) or "out of memory; use a smaller picture"
        print(f"cutmatch {name}: {reason}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SOME_FAILED
    except KeyboardInterrupt:
        print(f"cutmatch {name}: stopped", file=sys.stderr)
        return 130
