"""Jobs for the tests of batches, in a separate module that spawned processes can import.

A job is a file whose text selects a behaviour.  Every attempt adds a line to a log next to the file: process, number of
threads and visible GPU.
"""

import os
import signal
import time
from functools import partial
from pathlib import Path

from apps.common.images import InputError, write_bytes
from apps.common.writing import PREFIX, SUFFIX
from apps.run.inputs import Item
from apps.run.program import Program, Work


def copy(job: Path, chosen) -> dict:
    """Write the file's text to --out in capitals, unless the text selects another behaviour."""
    text = job.read_text(encoding="utf-8")
    log = job.with_suffix(".log")
    with open(log, "a", encoding="utf-8") as file:
        print(os.getpid(), os.environ.get("NUMBA_NUM_THREADS"), os.environ.get("CUDA_VISIBLE_DEVICES"), file=file)
    first = len(log.read_text("utf-8").splitlines()) == 1
    if "rejected" in text:
        raise InputError("image: not this one")
    if "broken" in text or ("once" in text and first):
        raise KeyError("a mistake")
    if "killed" in text or ("shot" in text and first):
        Path(chosen.out).mkdir(exist_ok=True)
        (Path(chosen.out) / f"{PREFIX}{os.getpid()}-{job.stem}{SUFFIX}").write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)
    if "slow" in text:
        time.sleep(60)
    path = write_bytes(Path(chosen.out) / f"{job.stem}.out", text.upper().encode())
    return {"item": str(job), "files": {"out": str(path)}}


def _add_options(options) -> None:
    options.add_argument("files", nargs="+")
    options.add_argument("--strength", type=int)


def _plan(chosen) -> Work:
    items = [Item(path.stem, path.stem, partial(Path, path)) for path in map(Path, chosen.files)]
    return Work(items, True, copy, lambda report: report["item"])


PROGRAM = Program("copy", "", "item", ("files",), _add_options, _plan)
