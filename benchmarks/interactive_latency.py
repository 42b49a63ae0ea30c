"""Latency and memory of a session and its tools by size: `python -m benchmarks interactive --latency`.

A row is a separate process, which opens a session (data/astronaut.jpg enlarged with noise, or balls in noise) and draws
--marks strokes, alternately on the object and on the background, each after the work for the one before has ended.
Imports and compilation are not timed: the first two strokes are drawn in another session before.

open       the constructor
first      the second stroke, with which there are both labels, until nothing is pending
answer     of a later stroke: `stroke` returns, with the labels of the image, the reduced image or the slice
complete   until nothing is pending: the image, or the volume, for the new models
processor  seconds of all threads, of a whole later stroke
memory     of the process after the last stroke

Later strokes: medians.  Then the tools of the page, each with the labels that it shows, also medians:

select     a preview that follows the pointer
push       the outline in a disc of 100 pixels, certified
wider      a step of the slider
look       margins, with the place to mark next, in the background; of volumes, too
meanwhile  answer of a stroke while that is computed
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import numpy as np

from benchmarks import command
from benchmarks.probe import resident
from benchmarks.table import ROOT, markdown
from benchmarks.timing import in_process

CASES = {
    "image, 0.26 MP": (512, 512),
    "image, 1 MP": (1000, 1000),
    "image, 2 MP": (1414, 1414),
    "image, 12 MP": (3464, 3464),
    "volume, 128³": (128,) * 3,
    "volume, 256³": (256,) * 3,
}
TIMES = "open", "first", "answer", "complete", "processor"
TOOLS = "select", "push", "wider", "look", "meanwhile"
COLUMNS = "session", "certified", *(f"{name} s" for name in TIMES), "memory GiB"
TOOL_COLUMNS = "session", *(f"{name} ms" for name in TOOLS)
REPEATS = 7
NOISE = 6.0  # grey levels
# Ends of strokes in shares of the width and height, alternately on the astronaut and beside her.
STROKES = (
    ((0.40, 0.75), (0.50, 0.85)),
    ((0.05, 0.05), (0.25, 0.10)),
    ((0.42, 0.20), (0.45, 0.28)),
    ((0.80, 0.10), (0.90, 0.30)),
    ((0.60, 0.80), (0.75, 0.95)),
    ((0.05, 0.40), (0.10, 0.60)),
)


def balls(size: int, seed: int = 0):
    """Grey bytes of balls in noise, and seeds: 2 in the middle of each ball, 1 at two ends."""
    random = np.random.default_rng(seed)
    z, y, x = np.ogrid[:size, :size, :size]
    grey, seeds = np.empty((size,) * 3, np.uint8), np.zeros((size,) * 3, np.uint8)
    truth = np.zeros((size,) * 3, bool)
    for _ in range(12):
        (a, b, c), radius = random.uniform(0.2, 0.8, 3) * size, random.uniform(0.06, 0.18) * size
        for k, plane in enumerate(truth):
            away = (k - a) ** 2 + (y[0] - b) ** 2 + (x[0] - c) ** 2
            plane |= away < radius**2
            seeds[k][away < (radius / 3) ** 2] = 2
    for out, plane in zip(grey, truth, strict=True):
        out[...] = np.clip(100 + 60 * plane + random.normal(0, 40, plane.shape), 0, 255)
    seeds[:2] = seeds[-2:] = 1
    return grey, seeds


def photograph(shape):
    """The astronaut at a size (height, width), with noise, uint8 RGB."""
    import cv2

    from apps.common.images import read_image, to_bytes

    image = to_bytes(read_image(ROOT / "data" / "astronaut.jpg"))
    large = cv2.resize(image, shape[::-1], interpolation=cv2.INTER_CUBIC).astype(np.float32)
    large += np.random.default_rng(0).normal(0, NOISE, large.shape).astype(np.float32)
    return np.uint8(np.clip(np.rint(large), 0, 255))


def image_strokes(shape, count):
    """Arguments of `Session.stroke` for an image."""
    height, width = shape
    for k in range(count):
        shift = 0.01 * (k // len(STROKES))
        points = (np.array(STROKES[k % len(STROKES)]) + shift) * (width, height)
        yield {"points": points, "radius": 0.01 * width, "label": (k + 1) % 2}


def volume_strokes(seeds, count):
    """Arguments of `Session.stroke` for a volume: in the middle of balls, and along a side of their slices."""
    size = len(seeds)
    slices = [k for k in range(size) if (seeds[k] == 2).any()]
    for k in range(count):
        index = slices[k // 2 * 2 * len(slices) // count]
        y, x = np.argwhere(seeds[index] == 2)[0]
        points = [(x, y), (x + 2, y)] if k % 2 == 0 else [(1, 1), (size - 2, 1)]
        yield {"points": points, "radius": 1.5, "label": (k + 1) % 2, "slice": index}


def measure(shape, marks: int, device="cpu") -> dict:
    """Seconds and bytes of a session on a grid of this shape."""
    if len(shape) == 2:
        grid, spacing = photograph(shape), None
        strokes = list(image_strokes(shape, marks))
    else:
        grid, seeds = balls(shape[0])
        strokes, spacing = list(volume_strokes(seeds, marks)), (1, 1, 1)
        del seeds
    run(grid, spacing, strokes[:3], device)
    return run(grid, spacing, strokes, device)


def run(grid, spacing, strokes, device="cpu") -> dict:
    """Draw strokes in a session; the last labels are certified."""
    from apps import Session

    start = time.perf_counter()
    with Session(grid, spacing, device=device) as session:
        opened = time.perf_counter() - start
        later, first = [], 0.0
        for k, stroke in enumerate(strokes):
            start, used = time.perf_counter(), time.process_time()
            session.stroke(**stroke)
            answered = time.perf_counter()
            session.wait()
            complete = time.perf_counter() - start
            if k < 2:
                first = complete
                continue
            times = {"answer": answered - start, "complete": complete}
            later.append(times | {"processor": time.process_time() - used})
        memory = resident("VmRSS")
        if not session.result().certified:  # raises if the cut is not minimal
            raise RuntimeError("the session has no cut, so nothing is certified")
        found = {"open": opened, "first": first, "memory": memory} | tools(session, strokes[-1])
    for name in later[0]:
        found[name] = median(one[name] for one in later)
    return found


def tools(session, stroke: dict) -> dict:
    """Median seconds of each tool until its labels are there; the stroke is drawn while margins are computed."""

    def seconds(call, *arguments, **options) -> float:
        start = time.perf_counter()
        call(*arguments, **options)
        assert session.labels.shape == session.shape
        return time.perf_counter() - start

    times: dict[str, list[float]] = {name: [] for name in TOOLS}
    if len(session.shape) == 2:
        height, width = session.shape
        outline = np.argwhere(np.diff(session.mask.astype(np.int8), axis=1))
        drawn = np.linspace((0.40 * width, 0.75 * height), (0.44 * width, 0.79 * height), REPEATS + 1)
        for k in range(REPEATS):
            times["select"].append(seconds(session.select, drawn[: k + 2], 4, final=False))
            y, x = outline[len(outline) * (k + 1) // (REPEATS + 2)]
            times["push"].append(seconds(session.push, [(x, y)], 50))
        for k in range(REPEATS):
            times["wider"].append(seconds(session.wider, k + 1, final=False))
        session.drop_preview()
    session.wait()
    with ThreadPoolExecutor(1) as pool:
        look = pool.submit(seconds, session.margins)
        while not look.done():
            time.sleep(0.05)
            times["meanwhile"].append(seconds(session.stroke, **stroke))
        times["look"].append(look.result())
    return {name: median(some) for name, some in times.items() if some}


def row(name: str, found: dict) -> list[str]:
    return [name, "✓", *(f"{found[key]:.3f}" for key in TIMES), f"{found['memory'] / 2**30:.2f}"]


def tool_row(name: str, found: dict) -> list[str]:
    return [name, *(f"{1000 * found[key]:.0f}" if key in found else "" for key in TOOLS)]


def report(marks: int, device="cpu") -> tuple[str, str]:
    """The head and the table."""
    programs = ["opencv-python-headless", "numba", "numpy", "scipy"]
    head = command.report_on(device, "interactive --latency", f"Latency of sessions, {marks} strokes,", programs)
    found: dict[str, dict] = {}
    rows = command.shown(row(name, found.setdefault(name, in_own_process(name, marks, device))) for name in CASES)
    tables = markdown(COLUMNS, rows), markdown(TOOL_COLUMNS, [tool_row(*one) for one in found.items()])
    return head, "\n" + "\n\n".join(tables)


def in_own_process(name: str, marks: int, device: str) -> dict:
    return json.loads(in_process("benchmarks.interactive_latency", name, marks, device).splitlines()[-1])


if __name__ == "__main__":
    name, marks, device = sys.argv[1:]
    print(json.dumps(measure(CASES[name], int(marks), device)))
