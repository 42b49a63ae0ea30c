"""`python -m benchmarks unwrap`: phases against scikit-image's unwrap_phase, and the same minimum by OR-tools.

    terrain         a fractal surface with Gaussian noise of 0.5, 0.7 and 0.9 radians, a cycle in 16 pixels of a side
    volume          a smooth surface of 32 and 64 voxels per side, a cycle in 16
    interferogram   fractal terrain and a hill, a cycle in 20 pixels; four looks, coherence from 0.2 to 0.93

Every result of cutmatch is certified.  Wrong pixels are off by other whole cycles than most.  OR-tools, if installed,
solves the dual problem of l1, a flow between pixels, for up to LARGEST_FOR_ORTOOLS pixels; its value must be the same.
l2 runs for up to LARGEST_FOR_L2 pixels.
"""

import itertools
from importlib.util import find_spec

import numpy as np
from scipy.ndimage import gaussian_filter
from skimage.restoration import unwrap_phase

from apps import unwrap
from apps.unwrap import NORMS
from apps.unwrap.phase_problem import CYCLE, jumps_of, problem_of
from benchmarks import command
from benchmarks.table import markdown
from benchmarks.timing import timed

LARGEST_FOR_ORTOOLS, LARGEST_FOR_L2 = 256**2, 512**2  # pixels


def main(argv):
    parser = command.parser("unwrap", __doc__, "unwrap-cpu")
    parser.add_argument("--sizes", type=int, nargs="+", metavar="SIDE", default=(512, 2048), help="pixels per side")
    options = parser.parse_args(argv)
    report = command.begin("Phase unwrapping", ["scikit-image", "ortools", "numba", "numpy"])
    for norm in NORMS:
        for phase in (terrain(64, 0.5)[1], volume(32, 0.9)[1]):
            unwrap(phase, norm=norm)  # compiles
    rows = command.shown(
        measured(name, truth, phase) for name, (truth, phase) in itertools.chain(*map(phases, options.sizes), volumes())
    )
    columns = ["phase", "side", "residues", "l1, s", "check, s", "l2, s", "scikit-image, s", "OR-tools, s"]
    columns += ["l1 wrong, %", "l2 wrong, %", "scikit-image wrong, %"]
    return command.finish(report, markdown(columns, rows), options.save)


def measured(name, truth, phase):
    found, seconds = timed(lambda: unwrap(phase))
    _, checked = timed(found.check)
    other, others = timed(lambda: unwrap_phase(phase, rng=0))
    dual = ""
    if phase.size <= LARGEST_FOR_ORTOOLS and find_spec("ortools"):
        cost, dual = timed(lambda: by_ortools(phase))
        if cost != found.cost:
            raise RuntimeError(f"OR-tools finds {cost}, cutmatch {found.cost}")
        dual = f"{dual:.3g}"
    l2 = l2_wrong = ""
    if phase.size <= LARGEST_FOR_L2:
        squared, taken = timed(lambda: unwrap(phase, norm="l2"))
        squared.check()
        l2, l2_wrong = f"{taken:.3g}", f"{100 * wrong_share(squared.phase, truth):.3g}"
    times = f"{seconds:.3g}", f"{checked:.3g}", l2, f"{others:.3g}", dual
    l1_wrong, others_wrong = (f"{100 * wrong_share(values, truth):.3g}" for values in (found.phase, other))
    return [name, str(len(phase)), str(found.residues), *times, l1_wrong, l2_wrong, others_wrong]


def wrong_share(phase, truth):
    cycles = np.rint((phase - truth) / CYCLE)
    return (cycles != np.median(cycles)).mean()


def by_ortools(phase):
    """The minimum, as a flow between pixels in both directions, whose capacities are the weights."""
    from benchmarks.cost_flow import by_ortools

    phase, _, weight = problem_of(phase, None, None)
    jump, pixels, arcs = jumps_of(phase), np.arange(phase.size).reshape(phase.shape), []
    for axis in range(phase.ndim):
        pixel, limit, cost = (np.moveaxis(of, axis, 0) for of in (pixels, weight[axis], jump[axis]))
        arcs.append([part.ravel() for part in (pixel[:-1], pixel[1:], limit[:-1], cost[:-1])])
    one, two, limit, cost = map(np.concatenate, zip(*arcs, strict=True))
    ends, costs = (np.r_[one, two], np.r_[two, one], np.r_[limit, limit]), np.r_[cost, -cost]
    return -by_ortools(*ends, costs, np.zeros(phase.size, np.int64))


def phases(side):
    for noise in (0.5, 0.7, 0.9):
        yield f"terrain, noise {noise}", terrain(side, noise)
    yield "interferogram", interferogram(side)


def volumes():
    for side in (32, 64):
        yield "volume, noise 0.9", volume(side, 0.9)


def fractal(side, power, seed):
    """A surface from 0 to 1 whose spectrum falls with this power of the frequency."""
    spectrum = np.fft.rfft2(np.random.default_rng(seed).normal(size=(side, side)))
    frequency = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side))
    frequency[0, 0] = 1
    surface = np.fft.irfft2(spectrum / frequency**power, (side, side))
    return (surface - surface.min()) / np.ptp(surface)


def terrain(side, noise):
    truth = CYCLE * side / 16 * fractal(side, 2.0, 0)
    noisy = truth + noise * np.random.default_rng(1).normal(size=truth.shape)
    return truth, np.angle(np.exp(1j * noisy))


def volume(side, noise):
    smooth = gaussian_filter(np.random.default_rng(0).normal(size=(side,) * 3), side / 10)
    truth = CYCLE * side / 16 * (smooth - smooth.min()) / np.ptp(smooth)
    return truth, np.angle(np.exp(1j * (truth + noise * np.random.default_rng(1).normal(size=truth.shape))))


def interferogram(side):
    y, x = np.mgrid[:side, :side] / side
    hill = 0.8 * np.exp(-((y - 0.45) ** 2 + (x - 0.55) ** 2) / 0.02)
    truth = CYCLE * side / 20 * (fractal(side, 2.2, 0) + hill)
    rough = fractal(side, 1.6, 100)
    coherence = np.clip(0.25 + rough - np.quantile(rough, 0.1), 0.2, 0.93)
    rng, total = np.random.default_rng(1), 0
    for _ in range(4):
        first, other = rng.normal(size=(2, 2, side, side))
        first, other = first[0] + 1j * first[1], other[0] + 1j * other[1]
        total = total + first * np.conj(coherence * first + np.sqrt(1 - coherence**2) * other)
    return truth, np.angle(total * np.exp(1j * truth))
