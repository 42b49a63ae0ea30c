"""Several nodes a pixel as layers of one grid: what exact costs of labels and roof duality share."""

import numpy as np

from gridcut.cut import Cut
from gridcut.flow import max_flow


def cut_layers(source, sink, edges, *, device: str, method: str) -> tuple[Cut, np.ndarray]:
    """Minimum cut of layers over a grid, and its labels in the layers' form.

    source, sink   (layers, *grid);  edges[(d, *offset)] of that shape, 0 where it leaves the layers or the grid

    A grid of three axes takes its layers into the first axis, far enough apart that all offsets stay different.
    """
    if source.ndim <= 3:
        cut = max_flow(source, sink, edges, device=device, method=method)
        return cut, cut.labels
    layers, length = source.shape[:2]
    apart = max(layers, 2 * max(abs(offset[0]) for offset in edges) + 1)

    def folded(array):
        rows = np.zeros((length, apart, *array.shape[2:]), array.dtype)
        rows[:, :layers] = np.moveaxis(array, 0, 1)
        return rows.reshape(length * apart, *array.shape[2:])

    arcs = {(o[1] * apart + o[0], *o[2:]): folded(array) for o, array in edges.items()}
    cut = max_flow(folded(source), folded(sink), arcs, device=device, method=method)
    rows = cut.labels.reshape(length, apart, *source.shape[2:])
    return cut, np.moveaxis(rows[:, :layers], 1, 0)
