"""The first labelling of stereo, the band of labels around it, and expansions within the band."""

import cv2
import numpy as np
import pytest

import gridcut
from apps.common.labelling import label_distances
from apps.stereo_matching.disparities import stereo
from apps.stereo_matching.disparity_bands import BAND_MARGIN, BAND_SIDE, band, first_labels

LABELS = 12


def energy_terms(seed, shape=(20, 27)):
    random = np.random.default_rng(seed)
    truth = np.add.outer(np.arange(shape[0]) // 5, np.arange(shape[1]) // 9) % LABELS
    costs = 40 * np.minimum(abs(np.arange(LABELS)[:, None, None] - truth), 3) + random.integers(0, 90, (LABELS, *shape))
    weights = {o: np.int32(random.integers(5, 30, shape)) for o in ((0, 1), (1, 0))}
    return np.int32(costs), weights


@pytest.mark.parametrize("truncate", [1, 3, 8, 9, 50])
def test_first_labels_are_near_the_result_of_expansions(truncate):
    for seed in range(3):
        costs, weights = energy_terms(seed)
        distances = label_distances(LABELS, "linear", truncate)
        found = first_labels(costs, weights, truncate)
        assert 0 <= found.min() <= found.max() < LABELS
        reached = gridcut.alpha_expansion(costs, weights, distances, device="cpu").energy
        cheapest = gridcut.energy_of(costs.argmin(0), costs, weights, distances)
        energy = gridcut.energy_of(found, costs, weights, distances)
        assert energy <= reached + 0.1 * (cheapest - reached)


def test_the_band_holds_the_labels_of_the_surroundings():
    labels = np.zeros((50, 60), np.int32)
    labels[20, 30] = 9
    costs = np.ones((LABELS, 50, 60), np.int32)
    costs[0] = 0
    costs[5, 40, 50] = -1
    allowed = band(labels, costs)
    assert allowed[5, 40, 50]
    assert np.count_nonzero(allowed[5]) == 1
    half = BAND_SIDE // 2
    assert allowed[: BAND_MARGIN + 1].all()
    expected = np.zeros((50, 60), bool)
    expected[max(0, 20 - half) : 20 + half + 1, max(0, 30 - half) : 30 + half + 1] = True
    assert np.array_equal(allowed[9], expected)
    assert np.array_equal(allowed[9 + BAND_MARGIN], expected) == (9 + BAND_MARGIN < LABELS)
    assert not allowed[BAND_MARGIN + 1].any()
    assert np.take_along_axis(allowed, labels[None].astype(np.intp), 0).all()


@pytest.mark.parametrize("term", ["linear", "potts"])
def test_no_expansion_within_the_band_improves_the_labelling(term):
    random = np.random.default_rng(2)
    right = cv2.GaussianBlur(random.uniform(0, 255, (40, 70, 3)), (0, 0), 1.0)
    left = np.roll(right, 4, axis=1)
    left[10:25, 20:40] = np.roll(right, 9, axis=1)[10:25, 20:40]
    result = stereo(np.uint8(left), np.uint8(right), max_disparity=11, smoothness_term=term, device="cpu")
    result.check()
    assert all(solved.stats["converged"] for solved in result.solved)
