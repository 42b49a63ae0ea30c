"""`python -m benchmarks volume`: peak memory and time of two labels in a volume, 6 neighbours, on the CPU.

Every row is a separate process that makes a volume of --size voxels per side (balls in noise), solves it and certifies
the cut; the peak is that of the whole process, interpreter, machine code and inputs included (VmHWM).

max_flow, scalar / arrays / floats     arrays of terminals int32, and one weight, or int32 or float32 weights per voxel
cutmatch segment                       files to files: a .npy of bytes, seeds, contrast weights, histograms
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import command
from benchmarks.kept_results import Kept
from benchmarks.probe import resident
from benchmarks.table import markdown
from benchmarks.timing import in_process

KINDS = ("scalar", "arrays", "floats", "segment")
WEIGHT = 25
COLUMNS = ("what", "voxels", "certified", "solve s", "peak GiB, solved", "bytes a voxel", "peak GiB, proved")


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


def max_flow(kind: str, size: int) -> dict:
    import gridcut

    level = balls(size)[0].astype(np.int16) - 130
    number = np.float32 if kind == "floats" else np.int32
    source, sink = (np.maximum(side, 0).astype(number) for side in (level, -level))
    weight = WEIGHT if kind == "scalar" else np.full(level.shape, WEIGHT, number)
    del level
    start = time.perf_counter()
    cut = gridcut.max_flow(source, sink, dict.fromkeys(gridcut.neighbourhood(6), weight), device="cpu")
    return _proved(cut, time.perf_counter() - start, resident("VmHWM"))


def segment(kind: str, size: int) -> dict:
    from argparse import Namespace

    from apps.segmentation import multilabel as objects
    from apps.segmentation import volume_jobs as jobs

    # The report does not hold the cut, which is certified below.
    with Kept(objects, "segment_volume") as held, tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("scan.npy", "seeds.npy")]
        for path, array in zip(files, balls(size), strict=True):
            np.save(path, array)
        job = jobs.VolumeJob(files[0], (), {"labels": files[1]}, None)
        chosen = Namespace(
            out=folder, connectivity=6, spacing=None, keep=None, device="cpu", volume=False, labels=str(files[1])
        )
        start = time.perf_counter()
        jobs.segment_volume_files(job, chosen)
        seconds = time.perf_counter() - start
    return _proved(held.waiting[0].solved, seconds, resident("VmHWM"))


def _proved(cut, seconds, peak):
    cut.check()
    return {"seconds": seconds, "peak": peak, "proved": resident("VmHWM")}


def main(argv):
    options = _parser().parse_args(argv)
    if options.inside:
        measure = segment if options.inside == "segment" else max_flow
        measure(options.inside, 8)  # compilation and imports are not timed
        print(json.dumps(measure(options.inside, options.size)))
        return 0
    report = command.begin("Volumes: memory", ["numba", "numpy", "scipy"])
    rows = command.shown(row(kind, options.size) for kind in KINDS)
    return command.finish(report, markdown(COLUMNS, rows), options.save)


def row(kind: str, size: int) -> list[str]:
    printed, _ = in_process("benchmarks.volume", "--inside", kind, "--size", size)
    found = json.loads(printed.splitlines()[-1])
    name = "cutmatch segment" if kind == "segment" else f"max_flow, {kind}"
    peaks = [found[key] / 2**30 for key in ("peak", "proved")]
    each = f"{found['peak'] / size**3:.0f}"
    return [name, f"{size}x{size}x{size}", "✓", f"{found['seconds']:.1f}", f"{peaks[0]:.2f}", each, f"{peaks[1]:.2f}"]


def _parser():
    options = command.parser("volume", __doc__, "volume-cpu")
    options.add_argument("--size", type=int, default=256, help="voxels per side (default: 256)")
    options.add_argument("--inside", choices=KINDS, help=argparse.SUPPRESS)
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
