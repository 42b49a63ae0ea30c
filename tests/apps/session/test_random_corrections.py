"""Random corrections of volumes: strokes of a user who knows the ground truth, on what is wrong.

A slice of the object is right from a Dice coefficient of 0.95, and worsened if it loses more than half a point.
"""

import numpy as np
import pytest
from scipy import ndimage

from apps.session import Session

RIGHT, LOSS = 0.95, 0.005
MIN_PIXELS = 20  # of the object in a slice that is judged


def tube(seed):
    """A bent tube beside a straight one of nearly the same grey, in noise and a gradient."""
    rng = np.random.default_rng(seed)
    z, y, x = np.mgrid[:40, :56, :64].astype(float)
    truth = (y - 28 - 8 * np.sin(z / 8)) ** 2 + (x - 28 - 6 * np.cos(z / 10)) ** 2 < (8 + 2 * np.sin(z / 5)) ** 2
    other = (y - 14) ** 2 + (x - 46) ** 2 < 36
    return 80 + 40 * truth + 30 * other + 0.6 * z + rng.normal(0, 22, z.shape), truth, (1.5, 1, 1)


def organs(seed):
    """An organ beside another one in a body, with thick slices."""
    rng = np.random.default_rng(seed)
    z, y, x = np.mgrid[:32, :72, :72].astype(float)
    body = ((y - 36) / 33) ** 2 + ((x - 36) / 30) ** 2 < 1
    truth = ((2 * z - 32) / 24) ** 2 + ((y - 32) / 14) ** 2 + ((x - 24) / 12) ** 2 < 1
    other = ((2 * z - 30) / 22) ** 2 + ((y - 42) / 13) ** 2 + ((x - 47) / 10) ** 2 < 1
    return 40 + 60 * body + 45 * truth + 32 * (other & ~truth) + rng.normal(0, 18, z.shape), truth, (2, 1, 1)


def first_strokes(session, truth):
    """A stroke of each label in the slice with most of the object."""
    at = int(truth.sum(axis=(1, 2)).argmax())
    depth = ndimage.distance_transform_edt(truth[at])
    y, x = np.unravel_index(depth.argmax(), depth.shape)
    half = 0.3 * depth.max()
    height, width = depth.shape
    session.stroke([(x - half, y), (x + half, y)], 1.5, slice=at)
    session.stroke([(3, 3), (width - 3, 3), (width - 3, height - 3)], 1.5, 0, slice=at)
    beside = np.argwhere((ndimage.distance_transform_edt(~truth[at]) // 1.5) == 2)[0]
    session.stroke([beside[::-1] + 0.5], 1.5, 0, slice=at)
    session.wait()


def correct(session, truth, radii, rng):
    """Correct a random place that is wrong with the largest brush that stays on one side of the true outline."""
    wrong = session.mask ^ truth
    at = rng.choice(np.flatnonzero(wrong.sum(axis=(1, 2)) >= 4))
    y, x = rng.choice(np.argwhere(wrong[at]))
    depth = ndimage.distance_transform_edt(truth[at] == truth[at, y, x])
    rows, columns = np.mgrid[: depth.shape[0], : depth.shape[1]]
    for radius in radii:
        fitting = (depth >= radius) & ((rows - y) ** 2 + (columns - x) ** 2 < 0.7 * radius**2)
        if fitting.any():
            y, x = rng.choice(np.argwhere(fitting))
            break
    session.stroke([(x + 0.5, y + 0.5)], radius, int(truth[at, y, x]), slice=at)
    session.wait()
    return at


def dice(mask, truth):
    return 2 * (mask & truth).sum(axis=(1, 2)) / (mask.sum(axis=(1, 2)) + truth.sum(axis=(1, 2))).clip(1)


@pytest.mark.slow
@pytest.mark.parametrize("radii", [(1,), (4.5, 3.5, 2.5, 1.5, 1)], ids=["small", "large"])
def test_corrections_help_and_worsen_no_other_slice(radii):
    rng = np.random.default_rng(5)
    worsened, gains = 0, []
    for number in range(10):
        volume, truth, spacing = (tube, organs)[number % 2](number)
        judged = truth.sum(axis=(1, 2)) >= MIN_PIXELS
        with Session(volume, spacing, device="cpu") as session:
            first_strokes(session, truth)
            for _ in range(3):
                before = session.mask
                at = correct(session, truth, radii, rng)
                old, new = dice(before, truth), dice(session.mask, truth)
                worsened += (judged & (old >= RIGHT) & (new < old - LOSS))[np.arange(len(truth)) != at].any()
                gains.append((new - old)[judged].mean())
    assert worsened == 0
    assert np.mean(gains) > 0
