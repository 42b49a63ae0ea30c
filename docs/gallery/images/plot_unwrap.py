"""
Make a phase continuous
=======================

Whole cycles are added so that jumps occur only at the cheapest places, by a minimum-cost flow between residues.
"""

import matplotlib.pyplot as plt
import numpy as np

from apps import unwrap

y, x = np.mgrid[:192, :192] / 192
hill = 90 * np.exp(-((x - 0.55) ** 2 + (y - 0.45) ** 2) / 0.05)
noise = (0.2 + 0.9 * x) * np.random.default_rng(0).normal(size=hill.shape)
phase = np.angle(np.exp(1j * (hill + noise)))
found = unwrap(phase)
print(found.residues, "residues")

figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
panels = (("wrapped", phase, "twilight"), ("continuous", found.phase, "turbo"))
for axis, (title, values, colours) in zip(axes, panels, strict=True):
    figure.colorbar(axis.imshow(values, cmap=colours), ax=axis, label="radians", shrink=0.8)
    axis.set_title(title)
    axis.axis("off")
