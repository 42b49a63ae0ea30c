"""`python -m benchmarks devices`: one grid on one GPU and on several, from arrays on the host to labels on the host.

    image     4 neighbours, edges by contrast; a noisy photograph against its median, mirrored again and again
    volume    6 neighbours, the same in three dimensions: three photographs, each along two axes
    dense     26 neighbours, one capacity for all edges of a length

load s       transfer to the GPUs: copies from pageable memory, validation, the layout of the solver
solve s      until no excess can reach the sink
labels s     labels and value back on the host
speed-up     of the same work on one GPU

Kernels are compiled before a clock starts, on a small part of the same kind.  Several slabs may share a GPU:
`--devices 0 1 --devices 0 0 0 0` measures two GPUs, and four slabs on one.  The first row appears only if its cut is
certified minimal (`Cut.check`), each other row only if value and labels are equal to those.
"""

import time
from statistics import median

import cv2
import numpy as np
import skimage.data

import gridcut
from benchmarks import command
from benchmarks.table import markdown

SIZES = {"image": 32768, "volume": 1024, "dense": 640}
SMALL = {"image": 160, "volume": 24, "dense": 16}  # to compile on
BLOCK = {"image": 4096, "volume": 256, "dense": 256}  # what is repeated
NOISE = 25.0
COLUMNS = ["instance", "size", "GPUs", "certified", "load s", "solve s", "labels s", "total s", "rounds", "exchanges"]
COLUMNS += ["speed-up, solve", "speed-up, total"]


def main(argv):
    options = _parser().parse_args(argv)
    command.known_instances(options.instances, SIZES)
    from gridcut.device.choose import gpu_count

    devices = options.devices or [list(range(gpu_count()))]
    sizes = {name: options.size or SIZES[name] for name in options.instances}
    title = f"One grid on GPUs {', '.join(map(str, devices))}"
    report = command.gpu_header("devices", title, ["numba-cuda", "numba", "numpy"])
    rows = command.shown(row for name, size in sizes.items() for row in measure(name, size, devices, options.repeats))
    return command.finish(report, markdown(COLUMNS, rows), options.save)


def measure(name, size, lists, repeats):
    """A row for each list of GPUs, and one for the first GPU alone, with which the others are compared."""
    problem, small = instance(name, size), instance(name, min(SMALL[name], size))
    first, found = None, []
    for devices in (*lists, None):
        try:
            solve(small, devices, lists[0][0])
            seconds, cut = timed(problem, devices, lists[0][0], repeats)
        except MemoryError:
            found.append([name, str(size), "1", "no room", *["-"] * 6])
            continue
        proof = "✓" if first is None else "equal"
        if first is None:
            cut.check()
            first = cut.value, cut.labels
        elif cut.value != first[0] or not np.array_equal(cut.labels, first[1]):
            raise AssertionError(f"{cut.stats}: value {cut.value} instead of {first[0]}, or other labels")
        which = "+".join(map(str, devices or lists[0][:1]))
        counts = [str(cut.stats["rounds"]), str(cut.stats.get("exchanges", "-"))]
        shape = "x".join(map(str, cut.labels.shape))
        found.append([name, shape, which, proof, *(f"{value:.3f}" for value in seconds.values()), *counts])
        print(f"  {which}: {cut.stats}", flush=True)
        del cut  # gives its memory on the GPUs back
    for row in found:
        known = "-" not in (found[-1][5], row[5])
        yield [*row, *(f"{float(found[-1][k]) / float(row[k]):.2f}" if known else "-" for k in (5, 7))]


def timed(problem, devices, alone, repeats):
    """Median seconds by phase, and the last cut."""
    found = []
    for _ in range(repeats):
        cut = None  # frees the last one's memory
        start = time.perf_counter()
        cut = solve(problem, devices, alone)
        total = time.perf_counter() - start
        seconds = cut.stats["seconds"]
        load = seconds["load"] + seconds.get("upload", 0)
        labels = seconds["download"] + seconds["value"]
        found.append({"load": load, "solve": seconds["solve"], "labels": labels, "total": total})
    return {key: median(one[key] for one in found) for key in found[0]}, cut


def solve(problem, devices, alone):
    """On several GPUs, or with devices None on one without slabs."""
    from gridcut.device.cuda import cuda

    source, sink, edges = problem
    with cuda.gpus[alone]:
        return gridcut.max_flow(source, sink, edges, device="cuda", devices=devices)


def instance(name, size):
    """source, sink, edges of a grid with `size` pixels per side."""
    axes = 2 if name == "image" else 3
    block = repeated(axes, min(BLOCK[name], size + size % 2))
    shape = (size,) * axes
    level = np.rint(block - np.median(block))
    source, sink = (tiled(np.clip(side, 0, 255).astype(np.uint8), shape) for side in (level, -level))
    if name == "dense":
        edges = {o: np.uint8(round(4 / np.linalg.norm(o))) for o in gridcut.neighbourhood(26)}
    else:
        edges = {o: tiled(contrast(block, o), shape) for o in gridcut.neighbourhood(2 * axes)}
    return source, sink, edges


def repeated(axes, side):
    """A periodic block of noisy grey values: mirrored photographs, each along two axes."""
    planes = [mirrored(name, side) for name in ("camera", "astronaut", "coffee")]
    grey = planes[0] if axes == 2 else planes[0][None] + planes[1][:, None] + planes[2][:, :, None] - 255
    noise = np.random.default_rng(0).standard_normal(grey.shape, np.float32)
    return np.clip(grey + np.float32(NOISE) * noise, 0, 255)


def mirrored(name, side):
    photo = getattr(skimage.data, name)()
    grey = (photo if photo.ndim == 2 else photo[..., :3].mean(-1)).astype(np.float32)
    shorter = min(grey.shape)
    half = cv2.resize(grey[:shorter, :shorter], (side // 2, side // 2), interpolation=cv2.INTER_CUBIC)
    return np.pad(half, (0, side // 2), "symmetric")


def contrast(block, offset, strength=250.0, spread=80.0):
    """Edges of a block to the pixels at `offset`: the weaker, the more the grey values differ."""
    far = np.roll(block, [-o for o in offset], axis=range(block.ndim))
    return np.rint(1 + strength * np.exp(-np.square((far - block) / np.float32(spread)) / 2)).astype(np.uint8)


def tiled(block, shape):
    """An array of this shape filled with a block again and again."""
    part = block[tuple(slice(d) for d in shape)]
    return np.pad(part, [(0, d - n) for d, n in zip(shape, part.shape, strict=True)], "wrap")


def _parser():
    parser = command.parser("devices", __doc__, "gridcut-devices", repeats=1)
    parser.add_argument("instances", nargs="*", metavar="NAME", default=list(SIZES), help=f"of {', '.join(SIZES)}")
    help_devices = "indices of GPUs (default: all); may be given repeatedly"
    parser.add_argument("--devices", type=int, nargs="+", action="append", metavar="N", help=help_devices)
    parser.add_argument("--size", type=int, metavar="N", help=f"pixels per side (default: {SIZES})")
    return parser
