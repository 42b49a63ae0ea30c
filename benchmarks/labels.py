"""`python -m benchmarks labels`: expansions and swaps against other programs, from arrays to labels, until convergence.

All start with the same labelling.  A row appears only if `check()` certified every move.  Times are
medians of interleaved repeats, ours after one untimed call, on one thread; ratio = baseline / ours.  A program that
takes longer than PATIENCE seconds is timed once.  Energies are computed by `gridcut.energy_of`.
"""

from functools import partial
from pathlib import Path

import numba
import numpy as np

import gridcut
from benchmarks import command
from benchmarks.label_baselines import BASELINES, fits
from benchmarks.label_instances import INSTANCES
from benchmarks.table import geometric_mean, markdown
from benchmarks.timing import rounds

TABLE = "labels-cpu"
PATIENCE = 10.0
SOLVE = {"expansion": gridcut.alpha_expansion, "swap": gridcut.alpha_beta_swap}


def main(argv):
    options = _parser().parse_args(argv)
    if command.unknown_instance(options.instances, INSTANCES):
        return 2
    numba.set_num_threads(1)
    distributions = [baseline.distribution for baseline in BASELINES.values()]
    report = command.begin("several labels on the CPU", ["numba", "numpy", *distributions])
    rows, ratios, missing = [], {name: [] for name in BASELINES}, []
    for name in options.instances or INSTANCES:
        make, move, folder = INSTANCES[name]
        if lacks_data(folder, options.data):
            missing.append(name)
            continue
        rows += command.shown(measure(name, make(options.data and Path(options.data)), move, options, ratios))
    columns = ["instance", "size", "start", "certified", "moves", "s", "energy"]
    for baseline in BASELINES:
        columns += [f"{baseline} s", "energy", "ratio"]
    lines = ["", markdown(columns, rows), ""]
    for baseline, column in ratios.items():
        if column:
            lines.append(
                f"{baseline}: geometric mean of the ratios {geometric_mean(column):.2f}, least {min(column):.2f}."
            )
        elif not BASELINES[baseline].installed:
            lines.append(f"{baseline} is missing (pip install {BASELINES[baseline].distribution}).")
    lines += not_measured(missing)
    return command.finish(report, "\n".join(lines), options.save)


def measure(name, problem, move, options, ratios):
    """Rows of one instance, one for each start; adds the ratios."""
    for start_name in options.start:
        cheapest = problem.unary.argmin(0)
        start = cheapest if start_name == "cheapest" else np.zeros_like(cheapest)
        run = partial(SOLVE[move], problem.unary, problem.weights, problem.cost, start=start, device="cpu")
        if options.restarts is not None:
            run = partial(run, restarts=options.restarts)
        run().check()
        runs = {"ours": run}
        for baseline, adapter in BASELINES.items():
            if adapter.installed and fits(baseline, problem, move):
                runs[baseline] = partial(adapter.run, problem, move, start.copy())
        seconds, results = rounds(runs, options.repeats, PATIENCE)
        size, result = "x".join(map(str, problem.unary.shape)), results["ours"]
        row = [name, size, start_name, "✓", str(result.stats["moves"]), f"{seconds['ours']:.3f}", str(result.energy)]
        for baseline in BASELINES:
            if baseline not in results:
                row += ["-"] * 3
                continue
            energy = gridcut.energy_of(results[baseline], problem.unary, problem.weights, problem.cost)
            ratios[baseline].append(seconds[baseline] / seconds["ours"])
            row += [f"{seconds[baseline]:.3f}", str(energy), f"{ratios[baseline][-1]:.2f}"]
        yield row


def lacks_data(folder, data) -> bool:
    """Whether an instance needs a folder of public data that --data does not have."""
    return folder is not None and (data is None or not (Path(data) / folder).is_dir())


def not_measured(missing) -> list[str]:
    return [f"Not measured, no public data (--data FOLDER): {', '.join(missing)}."] if missing else []


def instance_options(parser, known) -> None:
    """Add the options of this command that choose what is measured, on the CPU and on a GPU."""
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", help=f"of: {', '.join(known)} (default: all)")
    command.add_data_option(parser, "CUTMATCH_LABELS_DATA")


def _parser():
    parser = command.parser("labels", __doc__, TABLE)
    instance_options(parser, INSTANCES)
    parser.add_argument("--start", nargs="+", choices=("zero", "cheapest"), default=["zero"], help="first labelling")
    parser.add_argument("--restarts", type=int, help="number of restarts (default: that of each function)")
    parser.add_argument("--repeats", type=int, default=3)
    return parser
