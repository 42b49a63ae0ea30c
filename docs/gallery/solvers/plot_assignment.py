"""
Assignment of two sets of points
================================

Pairs of minimum total distance, with and without the possibility of leaving a point unmatched.
"""

import matplotlib.pyplot as plt
import numpy as np

import assign

rng = np.random.default_rng(1)
first = rng.random((40, 2))
second = np.concatenate([first[:32] + rng.normal(0, 0.02, (32, 2)), rng.random((8, 2))])
cost = np.linalg.norm(first[:, None] - second, axis=2)
everything, near = assign.solve(cost), assign.solve(cost, max_cost=0.1)
for result in (everything, near):
    result.check()  # the prices certify that no assignment is cheaper

figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for axis, result, title in zip(axes, (everything, near), ("all points", "max_cost=0.1"), strict=True):
    axis.plot(
        *np.stack([first[result.row], second[result.col]]).T.swapaxes(0, 1).reshape(2, -1, 2).swapaxes(1, 2), "0.6"
    )
    axis.plot(*first.T, "o", *second.T, "s", ms=4)
    axis.set(title=f"{title}: {len(result.row)} pairs", aspect="equal")
