"""Figures of the papers' experiments, as PNG."""

import io
from pathlib import Path

import numpy as np

SIZE = (11, 4.2)  # inches
COLOURS = 128  # of an image, including blends of a line with the background


def new_figure(columns: int):
    """A figure and its axes; not by pyplot, which needs a window system and has global state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    return figure, np.atleast_1d(figure.subplots(1, columns))


def save(figure, path):
    """Write a PNG atomically."""
    from PIL import Image

    path = Path(path)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    image = Image.open(buffer).convert("RGB").quantize(COLOURS)
    buffer = io.BytesIO()
    image.save(buffer, "png", optimize=True)
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(".png.part")
    unfinished.write_bytes(buffer.getvalue())
    unfinished.replace(path)
    return path
