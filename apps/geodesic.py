"""How far a pixel is from the strokes of either kind, along paths that avoid crossing borders.

The length of a step between neighbours p, q is  sqrt(|p - q|^2 + |Lab_p - Lab_q|^2), so a path through even
colour is short and one across a border is long [1].  Both distances are swept over the picture together, in
raster order forwards and backwards (a chamfer transform); SWEEPS pairs of sweeps leave small errors in mazes
only.

[1] Criminisi, Sharp, Blake. "GeoS: geodesic image segmentation." ECCV 2008.
    Price, Morse, Cohen. "Geodesic graph cut for interactive image segmentation." CVPR 2010.
"""

import numpy as np

from gridcut.device import kernel

SWEEPS = 2
GAMMA = 1.0
FAR = np.float32(1e9)


def nearer_background(lab: np.ndarray, is_object: np.ndarray, is_background: np.ndarray) -> np.ndarray:
    """(d_obj - d_bg) / (d_obj + d_bg) in [-1, 1], float32 (H, W): -1 at object strokes, 1 at background
    strokes.

    0 everywhere when one kind of stroke is missing: then nothing can be compared.
    """
    if not is_object.any() or not is_background.any():
        return np.zeros(is_object.shape, np.float32)
    distance = np.full((*is_object.shape, 2), FAR, np.float32)
    distance[is_object, 0] = 0.0
    distance[is_background, 1] = 0.0
    for _ in range(SWEEPS):
        sweep_kernel(lab, 1, distance)
        sweep_kernel(lab, -1, distance)
    to_object, to_background = distance[..., 0], distance[..., 1]
    return (to_object - to_background) / np.maximum(to_object + to_background, np.float32(1e-6))


def near_border(lab: np.ndarray, is_background: np.ndarray) -> np.ndarray:
    """1 at the background down to -1 at the open pixel farthest from it, float32 (H, W), evenly spread by
    rank.

    Ranks say that about half of the open pixels are object, whatever the colours' contrast.
    """
    distance = np.full((*is_background.shape, 2), FAR, np.float32)
    distance[is_background, 1] = 0.0
    for _ in range(SWEEPS):
        sweep_kernel(lab * np.float32(GAMMA), 1, distance)
        sweep_kernel(lab * np.float32(GAMMA), -1, distance)
    preference = np.ones(is_background.shape, np.float32)
    inside = distance[~is_background, 1]
    rank = np.empty(inside.size, np.float32)
    rank[np.argsort(inside)] = np.linspace(1.0, -1.0, inside.size, dtype=np.float32)
    preference[~is_background] = rank
    return preference


@kernel
def sweep_kernel(lab, step, distance):
    """Relax `distance` over the four neighbours already passed; `step` is 1 from the top left, -1 from the
    other end.
    """
    H, W, _ = lab.shape
    for row in range(H):
        y = row if step > 0 else H - 1 - row
        for column in range(W):
            x = column if step > 0 else W - 1 - column
            nearest_object = distance[y, x, 0]
            nearest_background = distance[y, x, 1]
            for k in range(4):
                v = y if k == 3 else y - step
                u = x - step if k == 3 else x - 1 + k
                if v < 0 or v >= H or u < 0 or u >= W:
                    continue
                square = np.float32(2.0) if k == 0 or k == 2 else np.float32(1.0)
                for c in range(3):
                    change = lab[y, x, c] - lab[v, u, c]
                    square += change * change
                length = np.sqrt(square)
                nearest_object = min(nearest_object, distance[v, u, 0] + length)
                nearest_background = min(nearest_background, distance[v, u, 1] + length)
            distance[y, x, 0] = nearest_object
            distance[y, x, 1] = nearest_background
