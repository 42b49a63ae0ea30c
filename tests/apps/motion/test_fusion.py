"""Fusion by a cut: minimum over all labellings, energy at most that of either flow, right vectors on real frames."""

import itertools

import numpy as np
import pytest

from apps.optical_flow import fusion
from apps.optical_flow.fusion import fuse, fusion_minimum
from apps.optical_flow.refine import Level


def level_of(lab):
    return Level((lab[..., 0], lab[..., 0]), (lab, lab))


def energy(choice, lab, flows, costs, raised=True):
    """The energy in units, from its definition; `raised`: mixed labels raised as in apps/optical_flow/fusion.py."""
    total = 0
    height, width = choice.shape
    picked = np.where(choice, 0, 1)
    for y, x in np.ndindex(height, width):
        total += np.rint(costs[picked[y, x]][y, x] * fusion.UNIT)
        for dy, dx in ((0, 1), (1, 0)):
            v, u = y + dy, x + dx
            if v == height or u == width:
                continue
            contrast = np.linalg.norm(lab[y, x] - lab[v, u])
            weight = fusion.UNIT * fusion.SMOOTHNESS_WEIGHT * np.exp(-contrast / fusion.CONTRAST_SCALE)

            def pair(i, j, y=y, x=x, v=v, u=u, weight=weight):
                return np.rint(weight * min(np.abs(flows[i][y, x] - flows[j][v, u]).sum(), fusion.TRUNCATION))

            cost = pair(picked[y, x], picked[v, u])
            if raised and (picked[y, x], picked[v, u]) == (0, 1):
                cost += max(0, pair(0, 0) + pair(1, 1) - pair(0, 1) - pair(1, 0))
            total += cost
    return int(total)


@pytest.fixture
def small():
    rng = np.random.default_rng(4)
    lab = rng.uniform(0, 12, (3, 4, 3)).astype(np.float32)
    flows = [rng.normal(0, 6, (3, 4, 2)).astype(np.float32) for _ in range(2)]
    costs = [rng.uniform(0, 10, (3, 4)).astype(np.float32) for _ in range(2)]
    return lab, flows, costs


def test_minimum_over_all_labellings(small):
    lab, flows, costs = small
    minimum = fusion_minimum(level_of(lab), flows, costs, "cpu")
    minimum.check()
    labellings = itertools.product([False, True], repeat=12)
    best = min(energy(np.reshape(choice, (3, 4)), lab, flows, costs) for choice in labellings)
    assert energy(minimum.labels, lab, flows, costs) == minimum.value == best


@pytest.mark.parametrize("seed", range(5))
def test_fusion_energy_not_above_either_input(seed):
    rng = np.random.default_rng(seed)
    lab = rng.uniform(0, 12, (6, 7, 3)).astype(np.float32)
    flows = [rng.normal(0, 4, (6, 7, 2)).astype(np.float32) for _ in range(2)]
    costs = [rng.uniform(0, 10, (6, 7)).astype(np.float32) for _ in range(2)]
    chosen = energy(fusion_minimum(level_of(lab), flows, costs, "cpu").labels, lab, flows, costs, raised=False)
    for label in (True, False):
        assert chosen <= energy(np.full((6, 7), label), lab, flows, costs, raised=False)


def test_each_half_comes_from_the_correct_flow(smooth_pair):
    level = smooth_pair.levels[0]
    left, right = smooth_pair.flow.copy(), smooth_pair.flow.copy()
    left[:, 128:] += 9
    right[:, :128] -= 9
    fused = fuse(level, left, right, "cpu")
    error = smooth_pair.error(fused)[smooth_pair.known]
    assert (error < 1).mean() > 0.9
    assert min(smooth_pair.error(f)[smooth_pair.known].mean() for f in (left, right)) > 5
