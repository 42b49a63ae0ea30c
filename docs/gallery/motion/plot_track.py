"""
Track particles
===============

The points of each frame are linked to the tracks by one exact assignment, whatever the density of the crowd.
"""

import matplotlib.pyplot as plt
import numpy as np

from apps import track

rng = np.random.default_rng(0)
points = rng.uniform(0, 100, (60, 2))
frames = []
for _ in range(20):
    frames.append(points.copy())
    points += (0.8, 0.3) + rng.normal(0, 0.7, points.shape)
tracks = track(frames, search_range=5)
print(tracks)

figure, axis = plt.subplots(figsize=(5, 5), layout="constrained")
for _, one in tracks.to_pandas().groupby("particle"):
    axis.plot(one.x, one.y, lw=1)
    axis.plot(one.x.iloc[-1], one.y.iloc[-1], "k.", ms=3)
axis.set(title="60 tracks, and where they end", aspect="equal")
