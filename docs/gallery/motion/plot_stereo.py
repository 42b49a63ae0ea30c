"""
Disparities of a stereo pair
============================

A cup before a slanted wall, a second camera's view of it, and the disparities found by graph cuts.
"""

import matplotlib.pyplot as plt
import numpy as np

from apps import stereo
from apps.common.images import read_image
from apps.demo import samples_folder
from apps.stereo_matching.disparity_files import read_disparity

first, second = (read_image(samples_folder() / f"{side}.png") for side in ("left", "right"))
truth, known = read_disparity(samples_folder() / "left-disparity.png")
found = stereo(first, second)
off = np.abs(found.disparity - truth)[known & found.valid] > 1
print(f"{100 * off.mean():.2f} % of the pixels that both cameras see are off by more than one pixel")

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
axes[0].imshow(second)
for axis, disparity in zip(axes[1:], (found.disparity, truth), strict=True):
    shown = axis.imshow(disparity, cmap="turbo", vmin=0, vmax=truth.max())
for axis, title in zip(axes, ("second camera", "found", "ground truth"), strict=True):
    axis.set_title(title)
    axis.axis("off")
figure.colorbar(shown, ax=axes, label="pixels", shrink=0.8)
