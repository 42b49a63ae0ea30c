"""
Nested superpixels
==================

One hierarchy of regions gives any number of them: each of the 60 regions is a union of some of the 600.
"""

import matplotlib.pyplot as plt
import skimage.data
from skimage.segmentation import mark_boundaries

from apps import superpixels

photo = skimage.data.chelsea()
found = superpixels(photo, regions=600)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for axis, number in zip(axes, (600, 60), strict=True):
    axis.imshow(mark_boundaries(photo, found.labels_at(number)))
    axis.set_title(f"{number} regions")
    axis.axis("off")
