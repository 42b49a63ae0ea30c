"""Cuts of a volume with thick slices and of isotropic voxels, compared: Dice coefficients and a figure.

    python -m benchmarks.thick_slices FIGURE.png

Three ellipsoids, 50 grey levels brighter than their background, with noise; isotropic voxels, and slices three times as
thick.  Each is cut with its spacing, and the thick slices also as if they were isotropic.
"""

import sys
from pathlib import Path

import numpy as np

FACTOR = 3  # thickness of the slices in isotropic voxels
SHAPE = (60, 64, 72)
NOISE = 22.0  # standard deviation in grey levels
DARK, BRIGHT = 90.0, 140.0
ELLIPSOIDS = (((30, 32, 22), (17, 13, 11)), ((28, 30, 48), (12, 17, 10)), ((33, 14, 36), (14, 8, 9)))  # centres, radii


def ellipsoids(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Isotropic ground truth (bool), noisy values, and marks: 1 inside each ellipsoid, 0 at two sides."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.mgrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]], axis=-1).astype(float)
    truth, strokes = np.zeros(SHAPE, bool), np.full(SHAPE, -1, np.int8)
    for centre, radii in ELLIPSOIDS:
        turned = np.linalg.qr(rng.normal(0, 1, (3, 3)) + 3 * np.eye(3))[0]
        distance = (((grid - centre) @ turned / radii) ** 2).sum(-1)
        truth |= distance < 1
        strokes[distance < 0.1] = 1
    strokes[:, :3] = strokes[:, -3:] = 0
    return truth, np.where(truth, BRIGHT, DARK) + rng.normal(0, NOISE, SHAPE), strokes


def thick(values: np.ndarray) -> np.ndarray:
    """Means of every FACTOR slices."""
    return values.reshape(-1, FACTOR, *values.shape[1:]).mean(1)


def thick_values(truth: np.ndarray, seed: int) -> np.ndarray:
    """A volume with thick slices, as noisy as the isotropic one."""
    noise = np.random.default_rng(seed).normal(0, NOISE, (SHAPE[0] // FACTOR, *SHAPE[1:]))
    return thick(np.where(truth, BRIGHT, DARK)) + noise


def dice(one: np.ndarray, other: np.ndarray) -> float:
    """Twice the common voxels per voxels of both masks."""
    return float(2 * (one & other).sum() / (one.sum() + other.sum()))


def masks(seed: int) -> dict[str, np.ndarray]:
    """Ground truth, the cuts, and thick voxels that the ground truth fills by half, all at isotropic voxels."""
    from apps.segmentation.volume_object import segment_object

    truth, values, strokes = ellipsoids(seed)
    coarse = thick_values(truth, seed)
    marks = strokes[FACTOR // 2 :: FACTOR]
    found = {"truth": truth, "isotropic": segment_object(values, strokes)}
    found["thick"] = segment_object(coarse, marks, spacing=(FACTOR, 1, 1))
    found["thick, spacing ignored"] = segment_object(coarse, marks)
    for name in list(found)[1:]:
        found[name].solved.check()
        found[name] = found[name].mask if name == "isotropic" else np.repeat(found[name].mask, FACTOR, axis=0)
    found["resampled truth"] = np.repeat(thick(truth) >= 0.5, FACTOR, axis=0)
    return found


def main(figure: Path) -> None:
    """Print the coefficients and write the figure: a section across y, isotropic on the left, thick on the right."""
    from apps.common.figures import enlarged, labels_overlay, side_by_side
    from apps.common.images import write_image

    found = masks(0)
    for name, mask in list(found.items())[1:]:
        scores = f"{dice(mask, found['truth']):.3f} with the ground truth, {dice(mask, found['isotropic']):.3f}"
        print(f"{name}: Dice {scores} with the isotropic cut")
    truth, values, _ = ellipsoids(0)
    coarse = np.repeat(thick_values(truth, 0), FACTOR, axis=0)
    parts = []
    for shown, mask in ((values, found["isotropic"]), (coarse, found["thick"])):
        grey = np.float32(np.clip((shown[:, 31, :, None] - 20) / 190, 0, 1)).repeat(3, axis=2)
        parts.append(labels_overlay(enlarged(grey, 6), enlarged(mask[:, 31].astype(np.uint8), 6)))
    write_image(figure, side_by_side(*parts, gap=12), "figure")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
