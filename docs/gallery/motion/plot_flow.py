"""
Motion of every pixel
=====================

Points of two frames are matched one-to-one by an exact assignment, and their motion is spread to all pixels.
"""

import matplotlib.pyplot as plt
import numpy as np

from apps import flow
from apps.common.images import read_image
from apps.demo import samples_folder
from apps.optical_flow.flow_files import read_flow

first, second = (read_image(samples_folder() / f"frame{number}.png") for number in (1, 2))
truth, known = read_flow(samples_folder() / "frame1-flow.png")
found = flow(first, second)
error = np.hypot(*np.moveaxis(found.flow - truth, -1, 0))[known]
print(f"{len(found.matches)} matches; mean end-point error {error.mean():.2f} pixels")

height, width = found.flow.shape[:2]
y, x = np.mgrid[8:height:16, 8:width:16]
u, v = np.moveaxis(found.flow[y, x], -1, 0)
figure, axis = plt.subplots(figsize=(7, 4.6), layout="constrained")
axis.imshow(first)
axis.quiver(x, y, u, v, np.hypot(u, v), angles="xy", scale_units="xy", scale=0.25, cmap="cool", width=0.004)
axis.set_title("motion of every 16th pixel, four times as long")
axis.axis("off")
