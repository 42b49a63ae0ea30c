"""
Cut out an object with a box
============================

A box around the object is enough for many photographs.  Strokes can correct the result.
"""

import matplotlib.pyplot as plt
import skimage.data

from apps import segment

photo = skimage.data.coffee()
box = (74, 14, 483, 392)  # x0, y0, x1, y1: half open
found = segment(photo, box=box)

figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
axis.imshow(photo)
axis.contour(found.mask, [0.5], colors="yellow")
axis.add_patch(plt.Rectangle(box[:2], box[2] - box[0], box[3] - box[1], fill=False, color="tab:blue"))
axis.axis("off")
axis.set_title(f"{100 * found.mask.mean():.1f} % of the pixels")
