"""Unwrapping: the exact minimum, congruence, masks and quality, certificates, and the command."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import tifffile
from PIL import Image

import assign
from apps.common.images import InputError
from apps.unwrap import NORMS, cycle_cuts, unwrap, unwrap_command
from apps.unwrap.phase_problem import CYCLE, differences, jumps_of, problem_of
from gridcut.device import CertificateError

RNG = np.random.default_rng(0)
RAMP = np.add.outer(0.9 * np.arange(12.0), 1.3 * np.arange(15.0))


def minimum_of(phase, mask, quality):
    """The minimum by the dual problem: cycles are prices of a flow between pixels of limited capacity."""
    phase, _, weight = problem_of(phase, mask, quality)
    index, jumps = np.arange(phase.size).reshape(phase.shape), jumps_of(phase)
    arcs = []
    for axis in range(phase.ndim):
        pixel, jump, limit = (np.moveaxis(of, axis, 0) for of in (index, jumps[axis], weight[axis]))
        arcs.append([part.ravel() for part in (pixel[:-1], pixel[1:], limit[:-1], jump[:-1])])
    tail, head, limit, jump = map(np.concatenate, zip(*arcs, strict=True))
    return -assign.min_cost_flow(tail, head, limit, jump, np.zeros(phase.size, int), -limit).cost


def random_problem(seed, axes):
    """A phase of noise, a mask, and a quality or None."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 13 if axes == 2 else 6, axes)
    phase = rng.uniform(-np.pi, np.pi, shape)
    mask = rng.random(shape) < (0, 0.1, 0.5)[seed % 3]
    mask.flat[0] = False
    return phase, mask, (None, 1, rng.random(shape))[seed // 3 % 3]


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_the_cost_is_the_minimum(seed, axes):
    phase, mask, quality = random_problem(seed, axes)
    found = unwrap(phase, mask=mask, quality=quality)
    found.check()
    assert found.cost == minimum_of(phase, mask, quality)
    assert np.isnan(found.phase[mask]).all()
    np.testing.assert_allclose(found.phase[~mask], (phase + CYCLE * found.cycles)[~mask])
    if axes == 2:  # what certifies volumes accepts the same minimum
        problem = problem_of(phase, mask, quality)
        cycle_cuts.certify(problem[0], problem[2], found.cycles, found.cost, "l1")


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_squares_have_the_minimum(seed, axes):
    """Any cycles within two of those found, one pixel at a time and for some sets, cost at least as much."""
    phase, mask, quality = random_problem(seed, axes)
    found = unwrap(phase, mask=mask, quality=quality, norm="l2")
    found.check()
    known_phase, _, weight = problem_of(phase, mask, quality)

    def cost(cycles):
        apart = np.rint(differences(known_phase) * (cycle_cuts.GRAIN / CYCLE)) + cycle_cuts.GRAIN * differences(cycles)
        return (weight * apart**2).sum()

    assert cost(found.cycles) == found.cost
    rng = np.random.default_rng(seed)
    for _ in range(300):
        assert cost(found.cycles + rng.integers(-2, 3, phase.shape) * (rng.random(phase.shape) < 0.3)) >= found.cost
    for values in itertools.product((-1, 0, 1), repeat=4):
        cycles = found.cycles.copy()
        cycles.flat[:4] += np.array(values, np.int32)[: cycles.size]
        assert cost(cycles) >= found.cost
    np.testing.assert_allclose(found.phase[~mask], (phase + CYCLE * found.cycles)[~mask])


def test_residues_are_counted():
    phase = np.zeros((5, 6))
    phase[1:3, 2:4] = [[-2, 0], [2.5, 1.5]]  # once around: -2, 0, 1.5, 2.5 and over pi to -2
    assert unwrap(phase).residues == 2
    assert unwrap(np.stack([phase] * 3)).residues == 3 * 2
    assert unwrap(phase, mask=phase == 2.5).residues == 0


@pytest.mark.parametrize("shape", [(9, 8), (4, 5, 6), (1, 7, 5)])
@pytest.mark.parametrize("norm", NORMS)
def test_cycles_in_the_phase_given_do_not_matter(shape, norm):
    rng = np.random.default_rng(4)
    phase = rng.uniform(-3, 3, shape)
    expected = unwrap(phase, quality=1, norm=norm)
    found = unwrap(phase + CYCLE * rng.integers(-(10**6), 10**6, shape), quality=1, norm=norm)
    found.check()
    assert found.cost == expected.cost


def test_a_volume_without_noise_is_restored():
    truth = np.add.outer(1.1 * np.arange(7.0), RAMP)
    for norm in NORMS:
        found = unwrap(np.angle(np.exp(1j * truth)), norm=norm)
        np.testing.assert_allclose(found.phase, truth, atol=1e-9)
        assert found.residues == 0


def test_damaged_results_of_cuts_are_rejected():
    found = unwrap(RNG.uniform(-3, 3, (4, 5, 6)))
    with pytest.raises(CertificateError, match="not that of the cycles"):
        replace(found, cost=found.cost - 1).check()
    other = found.cycles + np.int32(np.indices((4, 5, 6))[0] > 1) * 3
    phase, _, weight = problem_of(*found._given)
    worse, *_ = cycle_cuts.step_problem(phase, weight, other, "l1")
    with pytest.raises(CertificateError, match="another cycle on some pixels"):
        replace(found, cycles=other, phase=phase + CYCLE * other, cost=worse).check()


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
    r"phase must be numbers of shape \(H, W\), or \(D, H, W\)": lambda: unwrap(np.zeros(3)),
    r"mask has shape \(3, 3\), but the phase \(2, 3, 3\)": lambda: unwrap(np.zeros((2, 3, 3)), mask=np.zeros((3, 3))),
    "norm must be one of l1, l2, got 'l0'": lambda: unwrap(RAMP, norm="l0"),
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
        assert np.asarray(Image.open(f"out/{name}-phases.png")).shape[1] == 25 * 12 * 2 + 4
    Image.fromarray(np.uint8(RAMP > 9)).save("mask.png")
    assert unwrap_command.main(["in/c.npy", "--mask", "mask.png", "--format", "npy", "--overwrite"]) == 0
    assert "c.npy: 15x12, 0 residues, 1 cycles" in capsys.readouterr().out
    assert (np.isnan(np.load("out/c-unwrapped.npy")) == (RAMP > 9)).all()
    Image.fromarray(np.zeros((4, 4, 3), np.uint8) + np.uint8([0, 9, 3])).save("colour.png")
    assert unwrap_command.main(["colour.png"]) == 2
    assert "pass a grey one" in capsys.readouterr().err


def test_the_command_reads_volumes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    truth = np.add.outer(1.1 * np.arange(5.0), RAMP)
    phase = np.angle(np.exp(1j * truth))
    np.save("a.npy", phase)
    tifffile.imwrite("b.tif", np.float32(phase), photometric="minisblack")
    for name in ("a.npy", "b.tif"):
        assert unwrap_command.main([name, "--norm", "l2"]) == 0
        np.testing.assert_allclose(tifffile.imread(f"out/{name[0]}-unwrapped.tif"), truth, atol=1e-3)
        assert f"{name}: 15x12x5, 0 residues" in capsys.readouterr().out
        assert np.asarray(Image.open(f"out/{name[0]}-phases.png")).shape[1] == 25 * 12 * 2 + 4
    tifffile.imwrite("c.tif", np.uint16(phase + 9), photometric="minisblack")
    assert unwrap_command.main(["c.tif"]) == 2
    assert "convert the volume to floats in radians" in capsys.readouterr().err


def test_figure_of_a_volume_whose_middle_is_unknown():
    from apps.unwrap.phase_figures import both_figure

    volume = np.full((5, 30, 40), np.nan)
    volume[3] = np.linspace(0, 9, 1200).reshape(30, 40)
    assert np.array_equal(both_figure(volume, volume), both_figure(volume[3], volume[3]))


def test_scale_of_a_figure_is_that_of_the_phase():
    """An offset of whole cycles changes the numbers below the colours of the unwrapped phase, and nothing else."""
    from apps.unwrap.phase_figures import CYCLE, both_figure, phase_figure

    phase = np.linspace(-12.9, 12, 200 * 300).reshape(200, 300)
    first, second = both_figure(phase, phase), both_figure(phase, phase + 8 * CYCLE)
    assert np.array_equal(phase_figure(phase), phase_figure(phase + 8 * CYCLE))
    assert np.array_equal(first[:200, 304:], phase_figure(phase))
    assert np.array_equal(first[:200], second[:200])
    assert not np.array_equal(first[200:], second[200:])
