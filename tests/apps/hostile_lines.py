"""Hostile command lines: generated from every command's own options, run, and judged.

A line passes if it ends in time with exit status 0, 1 or 2, prints each error in lines of its own and without a
traceback, leaves all existing files unchanged and no half-written file, and every result can be read.
"""

import argparse
import contextlib
import importlib
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from apps import cli
from tests.apps import hostile_files as corpus
from tests.apps.hostile_judge import judge

OUTPUTS_OF = {  # option: fitting names
    "--json": ("result.json", "-"),
    "--video": ("film.mp4", "film.avi", "film.gif"),
    "--report": ("page.html", "new/page.html", "out/page.html"),
}
KINDS = ("mask", "coco,coco-rle,geojson,labelme", "overlay,cutout,mask", "labels,coco", "flow,colour", "all")
BAD_KINDS = ("", ",", "mask,", "nonsense", "COCO", "mask;coco", "coco\n", "out/mask")
MEMORY = 12 << 30  # bytes of address space of a process that runs lines
IMAGES = (".png", ".jpg", ".tif", ".gif")
# What each command takes: good files, and endings of files that come near them.
POSITIONAL = {
    "segment": (["photo.png"], (*IMAGES, ".nii")),
    "refine": (["photo.png", "truth.png"], (".png", ".tif", ".npy", ".npz", ".json")),
    "superpixels": (["photo.png"], IMAGES),
    "denoise": (["photo.png"], IMAGES),
    "stereo": (["photo.png", "other.png"], IMAGES),
    "flow": (["photo.png", "other.png"], (*IMAGES, ".npy", ".avi")),
    "match": (["photo.png", "other.png"], IMAGES),
    "track": (["detections.csv"], (".csv", ".avi", ".npy", ".gif", ".tif")),
    "matching": (["graph.mtx"], (".mtx", ".npz")),
    "info": ([], ()),
}
COMMANDS = tuple(POSITIONAL)
SEGMENT_TOO = 4 * ("segment",)  # it has half of all options
FITTING = {  # values that make sense, so that lines also get past the options
    "--strokes": ("strokes.png",),
    "--trimap": ("trimap.png",),
    "--label-strokes": ("labels16.png", "strokes.png"),
    "--mask": ("strokes.png",),
    "--truth": ("truth.png", "flow.flo", "homography.txt"),
    "--box": ("3,3,20,20", "-3,3,20,20", "boxes.json"),
    "--boxes": ("boxes.json", "several boxes.json"),
    "--start": ("truth.png",),
    "--write": KINDS,
    "--spacing": ("2.5,1,1",),
    "--out": ("out",),
    **OUTPUTS_OF,
}
NUMBERS = ("0", "1", "2", "3", "-1", "0.5", "1e300", "-1e300", "nan", "inf", "1e-300", "99999999999999999999", "x", "")
BOXES = ("3,3,20,20", "3 3 20 20", "-5,3,9,9", "0,0,1,1", "9,9,3,3", "0,0,24,24", "1e9,0,1,2", "nan,1,2,3", "1,2,3")
OUTPUTS = tuple(
    """result.json photo.png graph.mtx detections.csv stack.npy boxes.json session.sqlite page.html film.mp4 good
    pipe.png -""".split()
)
FOLDERS = ("out", "new/deep", ".", "good", "photos", "photo.png", "n" * 300, "pipe.png", "none")
QUANTITIES = ("N", "W", "T", "PIXELS", "STEPS", "LEVELS")  # metavars of numbers that a command parses itself
SKIPPED = ("-h", "--help", "--scheduler", "--workers")  # clusters and processes have tests of their own
RERUN_PERIOD = 4  # lines that succeed, of which one is run a second time, with --overwrite


class Line(NamedTuple):
    """A command line; `number` and the seed reproduce it."""

    number: int
    argv: list[str]

    def __str__(self):
        return "cutmatch " + " ".join(word if word.isalnum() else repr(word)[:80] for word in self.argv)


class Verdict(NamedTuple):
    """How a line ended; `fault` is None if that is permitted."""

    line: Line
    status: int | str
    seconds: float
    fault: str | None
    printed: str


class _Parsed(BaseException):
    def __init__(self, parser):
        self.parser = parser


def options_of(command: str) -> list[argparse.Action]:
    """The options of a command, from its own parser."""
    true = argparse.ArgumentParser.parse_args

    def stop(parser, *_, **__):
        raise _Parsed(parser)

    argparse.ArgumentParser.parse_args = stop
    try:
        importlib.import_module(cli.COMMANDS[command]).run([])
    except _Parsed as stopped:
        actions = stopped.parser._actions
        return [a for a in actions if a.option_strings and not set(a.option_strings) & set(SKIPPED)]
    finally:
        argparse.ArgumentParser.parse_args = true
    raise AssertionError(f"cutmatch {command} did not read its arguments")


def lines(count: int, seed: int):
    """`count` command lines, equal for equal seeds."""
    options = {command: options_of(command) for command in COMMANDS}
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        command = rng.choice((*COMMANDS[:-1], *SEGMENT_TOO)) if number % 50 else "info"
        argv = [command, *_positional(command, rng)]
        for action in rng.sample(options[command], min(rng.randrange(5), len(options[command]))):
            argv += _option(command, action, rng)
        if command == "segment" and rng.random() < 0.6:
            argv += rng.choice(
                (["--box", "3,3,20,20"], ["--strokes", "strokes.png"], ["--label-strokes", "labels16.png"])
            )
        if rng.random() < 0.05:
            rng.shuffle(argv)
        yield Line(number, argv)


def _positional(command, rng) -> list[str]:
    good, endings = POSITIONAL[command]
    if not good or rng.random() < 0.5:
        return list(good)
    pool = corpus.names(*endings)
    count = rng.choice((len(good), len(good), len(good), len(good) + 1, 1, 0))
    chosen = []
    for _ in range(count):
        kind = rng.random()
        if kind < 0.65:
            chosen.append(rng.choice(pool))
        elif kind < 0.75:
            chosen.append(rng.choice(list(corpus.FOLDERS)))
        elif kind < 0.85:
            links = [*corpus.BROKEN_LINKS, "linked.png", "pipe.png", "zero.link.png", "latin\udce9.png"]
            chosen.append(rng.choice(links))
        elif kind < 0.92:
            chosen.append(rng.choice(corpus.MISSING))
        else:
            chosen.append(rng.choice(corpus.names(".json", ".txt", ".flo", ".pfm", ".csv", ".npy", ".mtx")))
    return chosen


def _option(command, action, rng) -> list[str]:
    name = action.option_strings[-1]
    if action.nargs == 0:
        return [name]
    many = action.nargs if isinstance(action.nargs, int) else 1
    number = action.type in (int, float) or str(action.metavar).split("[")[0] in QUANTITIES
    if rng.random() < 0.5:
        if name in FITTING:
            return [f"{name}={rng.choice(FITTING[name])}"]
        if number:
            return [name, *(rng.choice("123") for _ in range(many))]
        if action.choices:
            return [name, str(rng.choice(list(action.choices)))]
    if name in OUTPUTS_OF:
        value = rng.choice(OUTPUTS)
        return [name] if action.nargs == "?" and rng.random() < 0.3 else [name, value]
    if name == "--out":
        return [name, rng.choice(FOLDERS)]
    if name == "--write":
        return [name, rng.choice(BAD_KINDS)]
    if name == "--box":
        return [f"{name}={rng.choice((*BOXES, *corpus.names('.json')))}"]
    if action.choices:
        return [name, str(rng.choice((*action.choices, "nonsense")))]
    if number:
        return [name, *(rng.choice(NUMBERS) for _ in range(many))]
    files = corpus.names(".png", ".tif", ".csv", ".flo", ".pfm", ".txt", ".npy", ".json")
    return [name, rng.choice((*files, *corpus.FOLDERS, *corpus.MISSING))]


# Running them


def run(line: Line) -> Verdict:
    """Run a line in this process, whose standard output and error go to a file each, and judge it."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as top:
        folder = Path(top) / "here"
        folder.mkdir()
        corpus.write(folder)
        before = corpus.snapshot(folder)
        start = time.perf_counter()
        status = _status_of(line.argv, folder)
        if status == 0 and line.number % RERUN_PERIOD == 0:
            if (again := _status_of([*line.argv, "--overwrite"], folder)) != 0:
                status = f"{again} when it was run again"
        seconds = time.perf_counter() - start
        printed = Path(top, "stderr").read_text(encoding="utf-8", errors="replace")
        fault = judge(status, printed, before, folder, replaceable(line.argv))
        if inside := [path.name for path in Path(top).iterdir() if path.name not in ("here", "stdout", "stderr")]:
            fault = fault or f"left {inside[0]} in the temporary folder"
    return Verdict(line, status, seconds, fault, printed[-2000:])


def _status_of(argv: list[str], folder: Path) -> int | str:
    tempfile.tempdir, saved = str(folder.parent), (os.dup(1), os.dup(2))
    for stream, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(folder.parent / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    try:
        with contextlib.chdir(folder):
            return cli.main(argv)
    except SystemExit as end:
        return end.code or 0
    except BaseException:
        traceback.print_exc()
        return "traceback"
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, copy in zip((1, 2), saved, strict=True):
            os.dup2(copy, stream)
            os.close(copy)
        tempfile.tempdir = None


def _prepare() -> None:
    """A process that runs lines, and may die of one."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def replaceable(argv: list[str]) -> set[str]:
    """Names of files that a line with --overwrite names as results."""
    if "--overwrite" not in argv:
        return set()
    return {after for name, after in zip(argv, argv[1:], strict=False) if name in OUTPUTS_OF}


def battery(count: int, seed: int, jobs: int = 2) -> list[Verdict]:
    """Run and judge lines, several at a time; raises an error for one that hangs or ends its process."""
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _prepare) as pool:
        return list(pool.map(run, lines(count, seed)))
