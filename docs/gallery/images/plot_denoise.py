"""
Remove noise exactly
====================

Total variation with squared data, minimised by one cut per bit of the grey levels.
"""

import matplotlib.pyplot as plt
import numpy as np
import skimage.data
from skimage.metrics import peak_signal_noise_ratio

from apps import denoise

clean = skimage.data.camera()[64:320, 128:384]
noisy = np.clip(clean + np.random.default_rng(0).normal(0, 20, clean.shape), 0, 255).astype(np.uint8)
found = denoise(noisy)
restored = np.rint(255 * found.image).astype(np.uint8)

figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for axis, image in zip(axes, (noisy, restored), strict=True):
    axis.imshow(image, cmap="gray", vmin=0, vmax=255)
    axis.set_title(f"{peak_signal_noise_ratio(clean, image):.1f} dB")
    axis.axis("off")
