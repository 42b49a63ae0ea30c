"""
Disparities of a stereo pair
============================

A photograph as an object before a slanted wall, a second camera's view of it, and the disparities found by graph cuts.
"""

import matplotlib.pyplot as plt
import numpy as np
import skimage.data

from apps import segment, stereo
from apps.demo import samples_folder
from apps.segmentation.strokes import read_strokes
from apps.stereo_matching.stereo_samples import layered_pair

photo = np.ascontiguousarray(skimage.data.astronaut()[::2, ::2])
strokes = read_strokes(samples_folder() / "astronaut-strokes.png")[::2, ::2]
pair = layered_pair(photo, segment(photo, strokes=strokes, fill_holes=True).mask)
found = stereo(pair.first, pair.second)
truth = -pair.flow[..., 0]
off = np.abs(found.disparity - truth) > 1
print(f"{100 * off[found.valid].mean():.2f} % of the pixels that both cameras see are off by more than one pixel")

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
axes[0].imshow(pair.second)
for axis, disparity in zip(axes[1:], (found.disparity, truth), strict=True):
    shown = axis.imshow(disparity, cmap="turbo", vmin=0, vmax=truth.max())
for axis, title in zip(axes, ("second camera", "found", "ground truth"), strict=True):
    axis.set_title(title)
    axis.axis("off")
figure.colorbar(shown, ax=axes, label="pixels", shrink=0.8)
