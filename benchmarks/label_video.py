"""`python -m benchmarks labels --video`: a sequence of stereo pairs, each frame started from the previous one.

A square flies in front of a slanted wall, both textured, seen by two cameras, with and without independent noise in
every frame.  Costs are those of label_instances.py.  The same frames are labelled from scratch, from the last labels
alone, and by `LabelSolver`, which keeps the flows too; all with the same moves, until convergence.
"""

import time
from statistics import median

import numpy as np

import gridcut
from benchmarks.label_instances import LabelInstance, birchfield_tomasi, smooth_weights, truncated
from benchmarks.table import markdown
from gridcut.multilabel.label_solver import LabelSolver

LABELS, HEIGHT, WIDTH, SIDE = 16, 240, 320, 80
WAYS = ("anew", "labels", "labels and flows")


def sequence(frames, noise):
    """Instances of the frames; `noise` in grey levels."""
    random = np.random.default_rng(0)
    wall = random.integers(0, 256, (HEIGHT, WIDTH + LABELS, 3))
    square = random.integers(0, 256, (SIDE, SIDE, 3))
    behind = 2 + 5 * np.arange(WIDTH) // WIDTH  # disparities of the wall
    for frame in range(frames):
        y, x, near = 60 + 2 * frame, 40 + 4 * frame, 10 + frame % 3
        left = wall[:, LABELS:].copy()
        right = wall[:, LABELS + np.minimum(np.arange(WIDTH) + behind, WIDTH - 1)]
        left[y : y + SIDE, x : x + SIDE] = square
        right[y : y + SIDE, x - near : x - near + SIDE] = square
        pair = (np.clip(one + random.normal(0, noise, one.shape), 0, 255).astype(np.int64) for one in (left, right))
        left, right = pair
        yield LabelInstance(
            birchfield_tomasi(left, right, LABELS, 20), smooth_weights(left, 15, 10, 3), truncated(LABELS, 3)
        )


def measure_video(frames):
    """The table: median seconds per frame after the first, and energies summed over these."""
    rows, size = [], f"{LABELS}x{HEIGHT}x{WIDTH}"
    for name, noise in (("still camera", 0), ("still camera, noise 4", 4)):
        seconds, energies = {way: [] for way in WAYS}, dict.fromkeys(WAYS, 0)
        solver = labels = None
        for problem in sequence(frames, noise):
            unary, weights, cost = problem
            found = {}
            for way in WAYS:
                begun = time.perf_counter()
                if way != "labels and flows":
                    start = labels if way == "labels" else None
                    found[way] = gridcut.alpha_expansion(unary, weights, cost, start=start, restarts=0, device="cpu")
                elif solver is None:
                    solver = LabelSolver(unary, weights, cost)
                    found[way] = solver.solve()
                else:
                    solver.update(unary=unary, weights=weights)
                    found[way] = solver.solve()
                seconds[way].append(time.perf_counter() - begun)
            if labels is not None:
                energies = {way: energies[way] + found[way].energy for way in WAYS}
            labels = found["labels"].labels
        anew = median(seconds["anew"][1:])
        for way in WAYS:
            one = median(seconds[way][1:])
            rows.append([name, size, way, f"{one:.4f}", f"{anew / one:.2f}", str(energies[way])])
    return markdown(["sequence", "size", "start of a frame", "s a frame", "ratio", "energies"], rows)
