"""Min-cut instances too large for memory, written to a folder as .npy files a band of rows at a time.

`slide`     an image of any size, mirrored tiles of four photographs from the scikit-image wheel with independent noise
            everywhere, and capacities as `instances.segmentation` has: terminals from colour histograms, edges by
            contrast
`vessels`   `instances.vessels` of any size; made in memory, about 60 bytes per voxel

`read` opens one as memory-mapped arguments of max_flow.

  python -m benchmarks.stored_instances slide|vessels SIZE FOLDER
"""

import json
import sys
from pathlib import Path

import cv2
import numpy as np
import skimage.data

from benchmarks import instances

PHOTOS = ("astronaut", "coffee", "chelsea", "rocket")
ACROSS = 5  # tiles along a side
BINS, UNIT, STRENGTH = 16, 100, 50.0
NOISE = 4.0
BAND = 512  # rows written at a time


def read(folder: Path, mode: str = "r") -> tuple:
    """source, sink, edges as memory-mapped arrays."""
    offsets = [tuple(offset) for offset in json.loads((folder / "offsets.json").read_text("utf-8"))]
    source, sink, *weights = (np.load(folder / f"{k}.npy", mmap_mode=mode) for k in range(2 + len(offsets)))
    return source, sink, dict(zip(offsets, weights, strict=True))


def make(kind: str, size: int, folder: Path) -> None:
    """Write an instance."""
    folder.mkdir(parents=True, exist_ok=True)
    offsets = {"slide": slide, "vessels": vessels}[kind](size, folder)
    (folder / "offsets.json").write_text(json.dumps(offsets))


def vessels(size: int, folder: Path):
    problem = instances.vessels(size, 6)
    for k, array in enumerate([problem.source, problem.sink, *problem.edges.values()]):
        np.save(folder / f"{k}.npy", array.astype(np.uint8 if array.max() < 256 else np.uint16))
    return list(problem.edges)


def slide(size: int, folder: Path):
    side = -(-size // ACROSS)
    tiles = [_tile(name, side) for name in PHOTOS]
    small = np.concatenate([cv2.resize(tile, (256, 256), interpolation=cv2.INTER_AREA) for tile in tiles])
    bright = _grey(small) > np.median(_grey(small))
    inside, outside = (np.bincount(_bins(small[side]), minlength=BINS**3) + 0.5 for side in (bright, ~bright))
    source_of = np.rint(-UNIT * np.log(outside / outside.sum()))
    sink_of = np.rint(-UNIT * np.log(inside / inside.sum()))
    common = np.minimum(source_of, sink_of)
    source_of, sink_of = ((cost - common).astype(np.uint16) for cost in (source_of, sink_of))

    offsets = [(0, 1), (1, 0)]
    arrays = [
        np.lib.format.open_memmap(folder / f"{k}.npy", "w+", np.uint16, (size, size)) for k in range(2 + len(offsets))
    ]
    rows = _rows(tiles, size, 0, BAND + 1)
    beta = 1 / (2 * np.mean(np.square(np.diff(rows.astype(np.float32), axis=1)).sum(-1)))
    for first in range(0, size, BAND):
        rows = _rows(tiles, size, first, min(size, first + BAND) + 1)
        count = min(size, first + BAND) - first
        keys = _bins(rows[:count])
        arrays[0][first : first + count] = source_of[keys]
        arrays[1][first : first + count] = sink_of[keys]
        colours = rows.astype(np.float32)
        right = np.square(np.diff(colours[:count], axis=1)).sum(-1)
        arrays[2][first : first + count, :-1] = np.rint(UNIT * STRENGTH * np.exp(-beta * right))
        down = np.square(np.diff(colours[: count + 1], axis=0)).sum(-1)
        arrays[3][first : first + len(down)] = np.rint(UNIT * STRENGTH * np.exp(-beta * down))
    return offsets


def _tile(name: str, side: int) -> np.ndarray:
    photo = getattr(skimage.data, name)()[..., :3]
    shorter = min(photo.shape[:2])
    return cv2.resize(photo[:shorter, :shorter], (side, side), interpolation=cv2.INTER_CUBIC)


def _rows(tiles, size: int, first: int, last: int) -> np.ndarray:
    """Rows first to last - 1 of the image, as far as it has them; noise depends on the row alone."""
    side = len(tiles[0])
    rows = np.empty((min(last, size) - first, size, 3), np.uint8)
    for i, y in enumerate(range(first, first + len(rows))):
        down, within = divmod(y, side)
        for across in range(ACROSS):
            tile = tiles[(down * 3 + across) % len(tiles)]
            line = tile[side - 1 - within if down % 2 else within]
            part = rows[i, across * side : (across + 1) * side]
            part[...] = (line[::-1] if across % 2 else line)[: len(part)]
        noise = np.random.default_rng(y).standard_normal((size, 3), np.float32) * np.float32(NOISE)
        rows[i] = np.clip(rows[i] + noise, 0, 255)
    return rows


def _grey(pixels):
    return pixels.mean(-1)


def _bins(pixels):
    bins = (pixels // (256 // BINS)).astype(np.int64)
    return (bins[..., 0] * BINS + bins[..., 1]) * BINS + bins[..., 2]


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
