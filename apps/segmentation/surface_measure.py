"""Edge weights that measure the area of a cut's surface, for any neighbourhood and shape of a voxel [1].

A surface of normal n crosses |n . d| / V edges of the offset d per unit of area, for voxels of volume V.  Weights times
these numbers, summed over the offsets, are proportional to the area (formula of Cauchy and Crofton) if the weight of an
offset is  (solid angle of the directions closest to d) / |d|.  `gridcut.contrast_edges` divides by |d|; the rest is
here.  Without it, 26 neighbours would smooth several times as strongly as 6, and thick voxels unevenly.

[1] Boykov, Kolmogorov. "Computing geodesics and minimal surfaces via graph cuts." ICCV 2003.
"""

import numpy as np

SAMPLES = 20_000  # directions whose closest offsets are counted


def direction_factors(offsets, spacing) -> np.ndarray:
    """Solid angle of the directions closest to each offset and its opposite, relative to that of three orthogonal axes.

    All factors are 1 for 6 neighbours.
    """
    steps = np.asarray(offsets, float) * spacing
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    nearest = np.abs(directions(SAMPLES) @ steps.T).argmax(axis=1)
    return 3.0 * np.bincount(nearest, minlength=len(steps)) / SAMPLES


def directions(count: int) -> np.ndarray:
    """Directions spread evenly over the sphere, on a spiral, (count, 3)."""
    height = 1 - (2 * np.arange(count) + 1) / count
    angle = np.pi * (3 - np.sqrt(5)) * np.arange(count)
    radius = np.sqrt(1 - height**2)
    return np.stack([height, radius * np.sin(angle), radius * np.cos(angle)], axis=1)
