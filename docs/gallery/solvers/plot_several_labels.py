"""
Several labels by alpha-expansion
=================================

Every pixel gets one of eight grey levels, at the cost of its change and of the steps between neighbours.
"""

import matplotlib.pyplot as plt
import numpy as np
import skimage.data

import gridcut

image = skimage.data.camera()[::2, ::2].astype(int)
levels = np.arange(16, 256, 32)
unary = np.abs(levels[:, None, None] - image)  # (labels, height, width)
steps = np.minimum(np.abs(np.subtract.outer(range(8), range(8))), 3)  # truncated, so that edges survive
found = gridcut.alpha_expansion(unary, dict.fromkeys(gridcut.neighbourhood(8), 15), steps)
print(found)

# %%
# The energy after every move.  Each move is the best of its kind, which ``found.check()`` certifies.

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
left.imshow(levels[found.labels], cmap="gray", vmin=0, vmax=255)
left.set_title("eight grey levels")
left.axis("off")
right.plot(found.stats["energies"], ".-")
right.set(title="energy after every move", xlabel="move", ylabel="energy")
