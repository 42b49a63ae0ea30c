"""Parts found in boxes equal those of the cut of the whole volume, label for label and in energy.

Default: some hundred volumes; ``pytest -m thorough tests/apps/volumes`` tests 2000 more; CUTMATCH_SEED moves them.
"""

import os

import numpy as np
import pytest
from scipy import ndimage

import gridcut
from apps.segmentation import part_cut, volume_view
from apps.segmentation.grid_cut import outline_cost
from apps.segmentation.model import Models
from apps.segmentation.part_cut import PartCut
from apps.segmentation.terms import UNIT
from apps.segmentation.volume_view import BINS, VolumeView
from tests.apps.session.scenes import costs_with, touching
from tests.tiers import in_quick_tier

BASE = int(os.environ.get("CUTMATCH_SEED", "0"))
SHAPE = (16, 18, 20)


def random_volume(rng):
    """Blobs of grey values, few values in some volumes, so that several cuts are minimum."""
    noise = ndimage.gaussian_filter(rng.normal(0, 1, SHAPE), rng.choice([0.3, 0.7, 1.5]))
    volume = noise / noise.std()
    return np.rint(volume) if rng.random() < 0.3 else volume


def random_marks(rng, before):
    marks = np.full(SHAPE, -1, np.int16) if before is None else before.copy()
    for label in (0, 1):
        for _ in range(rng.integers(1, 4)):
            (z, y, x), (d, h, w) = rng.integers(0, SHAPE), rng.choice([1, 2, 4], 3)
            marks[z : z + d, y : y + h, x : x + w] = label
    if not (marks == 1).any():
        marks[tuple(rng.integers(0, SHAPE))] = 1
    return marks


def random_models(rng, view):
    """The brightest voxels are object; more or fewer of them from one volume to the next."""
    threshold = np.quantile(view.grey, rng.uniform(0.6, 0.98))
    is_bright = 1 / (1 + np.exp((threshold - np.arange(BINS)) / rng.choice([1.0, 8.0])))
    return Models((0, 1), np.stack([1 - is_bright, is_bright]) + 1e-3)


def whole(view, models, marks):
    """Labels and energy of the parts that touch a mark, from one cut of the volume."""
    unary, edges = costs_with(view.costs(models), marks), view.edges()
    cut = gridcut.max_flow(unary[0], unary[1], edges, device="cpu")
    labels = touching(cut.labels.astype(np.int16), marks)
    return labels, np.where(labels == 1, unary[1], unary[0]).sum() / UNIT + outline_cost(labels, edges)


def check_sequence(seed):
    """Some cuts of one volume, with other marks and models each, and the boxes and flow of the last one."""
    rng = np.random.default_rng([BASE, seed])
    view = VolumeView(random_volume(rng), rng.choice([1.0, 2.0], 3))
    parts, marks, boxes = PartCut(view, "cpu"), None, 0
    for _ in range(4):
        marks = random_marks(rng, marks)
        models = random_models(rng, view)
        labels, energy = whole(view, models, marks)
        np.testing.assert_array_equal(parts.solve(models, marks, "touching"), labels)
        assert parts.energy == pytest.approx(energy, abs=1e-6)
        parts.solved.check()
        boxes += sum(cut.labels.size < view.grey.size for cut in parts.solved.cuts)
    return boxes


@pytest.fixture
def small_boxes(monkeypatch):
    monkeypatch.setattr(volume_view, "VOLUME_SMOOTHNESS", 1.0)  # objects are smaller than the volumes
    monkeypatch.setattr(part_cut, "MARGIN", 1)
    monkeypatch.setattr(part_cut, "MAX_STARTS", 3)


@pytest.mark.parametrize("block", in_quick_tier(range(3), (0).__eq__))
def test_parts_equal_those_of_the_volume(small_boxes, block):
    assert sum(check_sequence(50 * block + k) for k in range(30)) > 60


@pytest.mark.thorough
@pytest.mark.parametrize("block", range(10))
def test_parts_of_many_volumes(small_boxes, block):
    for k in range(50):
        check_sequence(1000 + 50 * block + k)
