"""Unwrapping: the exact minimum, congruence, masks and quality, certificates, and the command."""

from dataclasses import replace

import numpy as np
import pytest
import tifffile
from PIL import Image

import assign
from apps.common.images import InputError
from apps.unwrap import unwrap, unwrap_command
from apps.unwrap.unwrapping import CYCLE, jumps_of, problem_of
from gridcut.device import CertificateError

RNG = np.random.default_rng(0)
RAMP = np.add.outer(0.9 * np.arange(12.0), 1.3 * np.arange(15.0))


def minimum_of(phase, mask, quality):
    """The minimum by the dual problem: cycles are prices of a flow between pixels of limited capacity."""
    phase, _, weight = problem_of(phase, mask, quality)
    index = np.arange(phase.size).reshape(phase.shape)
    ends = (index[:-1], index[1:]), (index[:, :-1], index[:, 1:])
    jumps, weights = ([of[0, :-1], of[1, :, :-1]] for of in (jumps_of(phase), weight))
    tail, head = (np.concatenate([end[k].ravel() for end in ends]) for k in range(2))
    jump, limit = (np.concatenate([part.ravel() for part in parts]) for parts in (jumps, weights))
    return -assign.min_cost_flow(tail, head, limit, jump, np.zeros(phase.size, int), -limit).cost


@pytest.mark.parametrize("seed", range(12))
def test_the_cost_is_the_minimum(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 13, 2)
    phase = rng.uniform(-np.pi, np.pi, shape)
    mask = rng.random(shape) < (0, 0.1, 0.5)[seed % 3]
    mask[0, 0] = False
    quality = (None, 1, rng.random(shape))[seed // 3 % 3]
    found = unwrap(phase, mask=mask, quality=quality)
    found.check()
    assert found.cost == minimum_of(phase, mask, quality)
    assert np.isnan(found.phase[mask]).all()
    np.testing.assert_allclose(found.phase[~mask], (phase + CYCLE * found.cycles)[~mask])


def test_a_phase_without_noise_is_restored():
    found = unwrap(np.angle(np.exp(1j * RAMP)).astype(np.float32))
    assert (found.phase.dtype, found.cost, found.residues) == (np.float32, 0, 0)
    np.testing.assert_allclose(found.phase, RAMP, atol=1e-4)


def test_parts_around_a_hole_agree_and_separate_parts_keep_their_first_pixels():
    phase = np.angle(np.exp(1j * RAMP))
    phase[3:8, 4:9] = np.nan
    found = unwrap(phase)
    known = ~np.isnan(phase)
    np.testing.assert_allclose(found.phase[known], RAMP[known], atol=1e-9)
    phase[:, 6] = np.nan
    found = unwrap(phase)
    found.check()
    assert found.cycles[0, 0] == found.cycles[0, 7] == 0


def test_damaged_results_are_rejected():
    found = unwrap(RNG.uniform(-3, 3, (9, 9)), quality=1)
    assert found.cost > 0
    other = found.cycles + (np.indices((9, 9))[0] > 4)
    with pytest.raises(CertificateError, match="plus 2 pi cycles"):
        replace(found, cycles=other).check()
    with pytest.raises(CertificateError, match="not the cheapest"):
        replace(found, cycles=other, phase=found._given[0] + CYCLE * other).check()
    with pytest.raises(CertificateError, match="more than the weight"):
        replace(found, price=found.price + np.indices((10, 10))[0]).check()
    with pytest.raises(CertificateError, match="not that of the cycles"):
        replace(found, cost=found.cost - 1).check()


INVALID = {
    "phase must be floats in radians, got uint8": lambda: unwrap(np.zeros((3, 3), np.uint8)),
    r"phase must be numbers of shape \(H, W\)": lambda: unwrap(np.zeros((3, 3, 3))),
    "phase has infinity": lambda: unwrap(np.full((3, 3), np.inf)),
    "NaN or masked everywhere": lambda: unwrap(RAMP, mask=np.ones(RAMP.shape)),
    "mask is 3x3 pixels": lambda: unwrap(RAMP, mask=np.zeros((3, 3))),
    "quality is 3x3 pixels": lambda: unwrap(RAMP, quality=np.ones((3, 3))),
    "quality must be finite": lambda: unwrap(RAMP, quality=-RAMP),
    "quality must be numbers": lambda: unwrap(RAMP, quality=RAMP.astype(str)),
}


@pytest.mark.parametrize("message", INVALID)
def test_invalid_arguments(message):
    with pytest.raises(InputError, match=message):
        INVALID[message]()


def test_the_command_reads_images_and_arrays(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    Image.fromarray(np.uint8(np.rint(RAMP * (256 / CYCLE)) % 256)).save("in/a.png")
    tifffile.imwrite("in/b.tif", np.uint16(np.rint(RAMP * (65536 / CYCLE)) % 65536))
    np.save("in/c.npy", np.angle(np.exp(1j * RAMP)))
    np.save("q.npy", 1 + RAMP)
    assert unwrap_command.main(["in", "--quality", "q.npy", "--quiet"]) == 0
    for name in "abc":
        np.testing.assert_allclose(tifffile.imread(f"out/{name}-unwrapped.tif"), RAMP, atol=0.03)
        assert np.asarray(Image.open(f"out/{name}-phases.png")).shape == (40, 34, 3)
    Image.fromarray(np.uint8(RAMP > 9)).save("mask.png")
    assert unwrap_command.main(["in/c.npy", "--mask", "mask.png", "--format", "npy", "--overwrite"]) == 0
    assert "c.npy: 15x12, 0 residues, 1 cycles" in capsys.readouterr().out
    assert (np.isnan(np.load("out/c-unwrapped.npy")) == (RAMP > 9)).all()
    Image.fromarray(np.zeros((4, 4, 3), np.uint8) + np.uint8([0, 9, 3])).save("colour.png")
    assert unwrap_command.main(["colour.png"]) == 2
    assert "pass one grey image" in capsys.readouterr().err
