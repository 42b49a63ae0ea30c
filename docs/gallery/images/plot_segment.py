"""
Cut out an object with strokes
==============================

Strokes mark the object and the background; an exact minimum cut decides about the other pixels.
"""

import matplotlib.pyplot as plt
import numpy as np
import skimage.data

from apps import segment
from apps.demo import samples_folder
from apps.segmentation.strokes import read_strokes

photo = skimage.data.astronaut()
strokes = read_strokes(samples_folder() / "astronaut-strokes.png")  # 1 on the object, 0 on the background, -1 elsewhere
found = segment(photo, strokes=strokes, fill_holes=True)
print(found)

# %%
# ``found.mask`` is True on the object.  The energy of every round is a certified minimum for its colour models.

painted = photo.copy()
painted[strokes == 1], painted[strokes == 0] = (230, 30, 30), (60, 110, 255)
cut_out = np.where(found.mask[..., None], photo, 255)
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for axis, image, title in zip(axes, (painted, cut_out), ("strokes", "object"), strict=True):
    axis.imshow(image)
    axis.set_title(title)
    axis.axis("off")
