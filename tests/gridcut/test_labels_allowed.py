"""alpha_expansion with `allowed`: only some labels may be assigned to a pixel."""

import numpy as np
import pytest

from gridcut import alpha_expansion, energy_of
from gridcut.device import CertificateError
from gridcut.multilabel.labelling import move_minimum

LINEAR = np.minimum(np.abs(np.subtract.outer(np.arange(6), np.arange(6))), 3)
WEIGHTS = {(0, 1): 6, (1, 1): 5}


def instance(seed, shape=(23, 31)):
    random = np.random.default_rng(seed)
    return random.integers(0, 40, (6, *shape)), random.random((6, *shape)) < 0.5


def mask_with(allowed, labels):
    allowed = allowed.copy()
    np.put_along_axis(allowed, labels[None], True, 0)
    return allowed


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cost", [None, LINEAR])
def test_no_allowed_expansion_improves_the_result_and_all_labels_are_allowed(seed, cost):
    unary, allowed = instance(seed)
    allowed = mask_with(allowed, unary.argmin(0))
    result = alpha_expansion(unary, WEIGHTS, cost, allowed=allowed)
    result.check()
    assert result.stats["converged"]
    assert np.take_along_axis(allowed, result.labels[None].astype(np.intp), 0).all()
    for label in range(6):
        assert move_minimum(result.labels, -1, label, result._history.problem) == result.energy
    assert result.energy == energy_of(result.labels, unary, WEIGHTS, cost)


@pytest.mark.parametrize("seed", range(2))
def test_forbidden_labels_equal_labels_too_expensive_to_be_taken(seed):
    unary, allowed = instance(seed)
    allowed = mask_with(allowed, unary.argmin(0))
    order = list(range(6))
    start = unary.argmin(0)
    result = alpha_expansion(unary, WEIGHTS, LINEAR, allowed=allowed, start=start, order=order, restarts=0)
    expensive = alpha_expansion(
        np.where(allowed, unary, unary + 100_000), WEIGHTS, LINEAR, start=start, order=order, restarts=0, device="cpu"
    )
    assert np.array_equal(result.labels, expensive.labels)
    assert result.stats["energies"] == expensive.stats["energies"]


def test_the_default_start_is_the_cheapest_allowed_label():
    unary = np.broadcast_to(np.array([0, 5, 9, 99, 99, 99])[:, None, None], (6, 2, 3))
    allowed = np.ones(unary.shape, bool)
    allowed[0, :, 1:] = allowed[1, :, 2] = False
    result = alpha_expansion(unary, dict.fromkeys(WEIGHTS, 0), allowed=allowed)
    assert result.labels.tolist() == [[0, 1, 2]] * 2


def test_labels_that_are_forbidden_are_found_by_the_certificate():
    unary, allowed = instance(1)
    allowed = mask_with(allowed, unary.argmin(0))
    result = alpha_expansion(unary, WEIGHTS, allowed=allowed)
    allowed[result.labels[3, 4], 3, 4] = False
    with pytest.raises(CertificateError):
        result.check()


@pytest.mark.parametrize(
    ("allowed", "more", "error", "message"),
    [
        (np.ones((3, 4)), {}, TypeError, "allowed must hold booleans"),
        (np.ones((2, 4), bool), {}, ValueError, r"allowed must have the shape of unary \(3, 4\), got \(2, 4\)"),
        (np.array([[1, 1, 0, 1]] * 3, bool), {}, ValueError, r"forbids every label at pixel \(2,\)"),
        (np.array([[1] * 4, [0] * 4, [1] * 4], bool), {"start": [0, 0, 1, 0]}, ValueError, r"label 1 at pixel \(2,\)"),
        (np.ones((3, 4), bool), {"device": "cuda"}, ValueError, "use device='cpu'"),
    ],
)
def test_bad_masks_are_rejected(allowed, more, error, message):
    with pytest.raises(error, match=message):
        alpha_expansion(np.zeros((3, 4)), {(1,): 1}, allowed=allowed, **more)
