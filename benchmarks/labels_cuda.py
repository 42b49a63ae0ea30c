"""`python -m benchmarks labels --device cuda`: expansions and swaps on a GPU, against the CPU and gco-wrapper.

on card s       from arrays on the GPU to labels on the GPU, synchronised; the median of --repeats
transfers s     from arrays on the host to labels on the host
CPU s           the same call on the CPU, one thread, once; gco-wrapper s: once, until convergence as well

A row for each number of --restarts of an expansion, 0 and the default; the baseline is timed once per instance.  The
public instances are read from --data, or CUTMATCH_LABELS_DATA in the environment:

    mrf/tsukuba_potts/tsukuba_potts.npz     mrf/denoise/penguin-input.png  penguin-mask.png
    stereo/tsukuba/im3.png  im4.png         stereo/teddy/im2.png  im6.png

All start with label 0 everywhere.  A row appears only if labels and the energy after every move are those of the CPU
(`equal`), or if `check()` certified the moves (`proved`, for --quick, which leaves out the CPU).  Compilation is over
before a clock starts.
"""

import inspect
from functools import partial
from pathlib import Path
from statistics import median

import numba
import numpy as np

import gridcut
from benchmarks import command, gpu
from benchmarks.gpu import device_array, to_host
from benchmarks.label_baselines import BASELINES
from benchmarks.label_instances import INSTANCES, LabelInstance, camera
from benchmarks.labels import SOLVE, instance_options, lacks_data, not_measured
from benchmarks.table import markdown
from benchmarks.timing import timed

BASELINE = "gco-wrapper"
LARGEST = 2**25  # pixels times labels: larger instances are not given to the baseline
COLUMNS = ["instance", "size", "restarts", "certified", "energy", "moves", "rounds", "on card s", "transfers s"]
COLUMNS += ["CPU s", f"{BASELINE} s", "energy", f"{BASELINE} / on card", "CPU / on card"]


LARGE = {f"camera x{n}": (partial(camera, scale=n), "expansion", None) for n in (2, 4)}
ALL = {**INSTANCES, **LARGE}


def main(argv):
    options = _parser().parse_args(argv)
    if command.unknown_instance(options.instances, ALL):
        return 2
    programs = ["numba-cuda", "numba", "numpy", BASELINES[BASELINE].distribution]
    report = command.gpu_header("labels --device cuda", "several labels on a GPU", programs)
    if report is None:
        return 2
    numba.set_num_threads(1)
    rows, missing = [], []
    for name in options.instances or ALL:
        make, move, folder = ALL[name]
        if lacks_data(folder, options.data):
            missing.append(name)
            continue
        rows += command.shown(measure(name, make(options.data and Path(options.data)), move, options))
    lines = ["", markdown(COLUMNS, rows), "", *not_measured(missing)]
    return command.finish(report, "\n".join(lines), options.save)


def measure(name, problem, move, options):
    """A row for each number of restarts; one of swaps, which have none."""
    start = np.zeros(problem.unary.shape[1:], np.int32)
    held = LabelInstance(
        device_array(problem.unary),
        {o: device_array(np.broadcast_to(w, start.shape)) for o, w in problem.weights.items()},
        problem.cost,
    )
    baseline, energy = (None, "") if options.quick else baseline_of(problem, move, start)
    for restarts in dict.fromkeys(options.restarts) if move == "expansion" else [0]:
        solve = partial(SOLVE[move], restarts=restarts)
        on_card = partial(solve, *held, start=device_array(start), device="cuda")
        host = partial(solve, *problem, start=start)
        result = on_card()
        card = median(gpu.timed(on_card)[0] for _ in range(options.repeats))
        host(device="cuda")
        transfers = median(gpu.timed(partial(host, device="cuda"))[0] for _ in range(options.repeats))
        certified, cpu = "proved", None
        if options.quick:
            result.check()
        else:
            cpu = compared(name, result, host)
            certified = "equal"
        stats = result.stats
        row = [name, "x".join(map(str, problem.unary.shape)), str(restarts), certified, str(result.energy)]
        row += [str(stats["moves"]), str(stats["rounds"]), f"{card:.4f}", f"{transfers:.4f}"]
        row += ["-"] if cpu is None else [f"{cpu:.3f}"]
        row += ["-", "-", "-"] if baseline is None else [f"{baseline:.3f}", energy, f"{baseline / card:.1f}"]
        yield [*row, "-" if cpu is None else f"{cpu / card:.1f}"]


def compared(name, result, host) -> float:
    """Seconds of the CPU, whose labels and energies must be the same."""
    host(device="cpu", max_cycles=1)
    expected, seconds = timed(partial(host, device="cpu"))
    same = (to_host(result.labels) == expected.labels).all()
    if not same or result.stats["energies"] != expected.stats["energies"]:
        raise AssertionError(f"{name}: energy {result.energy} on the GPU, {expected.energy} on the CPU")
    return seconds


def baseline_of(problem, move, start):
    """Seconds and energy of the baseline, once; (None, "") where it is missing or would take too long."""
    if not BASELINES[BASELINE].installed or problem.unary.size > LARGEST:
        return None, ""
    labels, seconds = timed(lambda: BASELINES[BASELINE].run(problem, move, start.copy()))
    return seconds, str(gridcut.energy_of(labels, *problem))


def _parser():
    parser = command.parser("labels --device cuda", __doc__, "labels-cuda")
    instance_options(parser, ALL)
    default = inspect.signature(gridcut.alpha_expansion).parameters["restarts"].default
    parser.add_argument("--restarts", type=int, nargs="+", default=[0, default], help="of expansions")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="neither CPU nor baseline: certify the moves instead")
    return parser
