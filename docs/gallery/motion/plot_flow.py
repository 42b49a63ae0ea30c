"""
Motion of every pixel
=====================

Points of two frames are matched one-to-one by an exact assignment, and their motion is spread to all pixels.
"""

import matplotlib.pyplot as plt
import numpy as np

from apps import flow
from apps.motion.samples import warped_pair

pair = warped_pair("chelsea")
found = flow(pair.first, pair.second)
error = np.hypot(*np.moveaxis(found.flow - pair.flow, -1, 0))[pair.known]
print(f"{len(found.matches)} matches; mean end-point error {error.mean():.2f} pixels")

height, width = found.flow.shape[:2]
y, x = np.mgrid[8:height:16, 8:width:16]
u, v = np.moveaxis(found.flow[y, x], -1, 0)
figure, axis = plt.subplots(figsize=(7, 4.6), layout="constrained")
axis.imshow(pair.first)
axis.quiver(x, y, u, v, np.hypot(u, v), angles="xy", scale_units="xy", scale=0.25, cmap="cool", width=0.004)
axis.set_title("motion of every 16th pixel, four times as long")
axis.axis("off")
