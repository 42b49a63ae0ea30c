"""`python -m benchmarks labels`: expansions and swaps against other programs, from arrays to labels, until convergence.

All programs start with the same labelling and run on one thread; medians of --repeats, interleaved, after one untimed
call of ours; a program that takes longer than PATIENCE seconds is timed once.  Energies are computed by
`gridcut.energy_of`.  A row appears only if `check()` certified every move.

With --device cuda: expansions and swaps on a GPU, from arrays there to labels there ("on card") and from the host to
the host ("transfers"), against the same call on the CPU and gco-wrapper, both once.  A row appears only if labels and
the energy after every move are those of the CPU (`equal`), or, with --quick, which leaves out the CPU, if `check()`
certified the moves.

The public instances are read from --data, or CUTMATCH_LABELS_DATA in the environment:

    mrf/tsukuba_potts/tsukuba_potts.npz     mrf/denoise/penguin-input.png  penguin-mask.png
    stereo/tsukuba/im3.png  im4.png         stereo/teddy/im2.png  im6.png
"""

from functools import partial
from pathlib import Path
from statistics import median

import numba
import numpy as np

import gridcut
from benchmarks import baselines, command, gpu
from benchmarks.gpu import device_array, to_host
from benchmarks.label_instances import INSTANCES, LabelInstance, camera
from benchmarks.table import means, number, ratio, records
from benchmarks.timing import rounds, timed

BASELINES = baselines.BASELINES["labels"]
PATIENCE = 10.0
LARGEST = 2**25  # pixels times labels: larger instances are not given to gco-wrapper with --device cuda
SOLVE = {"expansion": gridcut.alpha_expansion, "swap": gridcut.alpha_beta_swap}
LARGE = {f"camera x{n}": (partial(camera, scale=n), "expansion", None) for n in (2, 4)}  # for a GPU


def main(argv):
    options = _parser().parse_args(argv)
    known = INSTANCES | LARGE
    command.known_instances(options.instances, known)
    numba.set_num_threads(1)
    distributions = ["numba", "numpy", *(baseline.distribution for baseline in BASELINES.values())]
    report = command.report_on(options.device, "labels", "several labels", distributions)
    measure, every = (on_gpu, known) if options.device == "cuda" else (on_cpu, INSTANCES)
    rows, ratios, missing = [], {}, []
    for name in options.instances or every:
        make, move, folder = known[name]
        if folder is not None and (options.data is None or not (Path(options.data) / folder).is_dir()):
            missing.append(name)
            continue
        rows += command.shown(measure(name, make(options.data and Path(options.data)), move, options, ratios))
    text = f"\n{records(rows)}\n\n{means(ratios)}\n\n"
    for baseline, of in BASELINES.items():
        text += "" if of.installed else f"{baseline} is missing (pip install {of.distribution}).\n"
    if missing:
        text += f"Not measured, no public data (--data FOLDER): {', '.join(missing)}."
    return command.finish(report, text, options.save and options.save.format(device=options.device))


def on_cpu(name, problem, move, options, ratios):
    """Rows of one instance, one for each start; adds the ratios."""
    for start_name in options.start:
        cheapest = problem.unary.argmin(0)
        start = cheapest if start_name == "cheapest" else np.zeros_like(cheapest)
        how = {} if options.restarts is None else {"restarts": options.restarts[0]}
        run = partial(SOLVE[move], *problem, start=start, device="cpu", **how)
        run().check()
        runs = {"ours": run}
        for baseline, program in baselines.installed("labels").items():
            if prepared := program.prepare(problem, move, start.copy()):
                runs[baseline] = prepared
        seconds, results = rounds(runs, options.repeats, PATIENCE)
        result = results["ours"]
        row = {"instance": name, "size": "x".join(map(str, problem.unary.shape)), "start": start_name, "certified": "✓"}
        row |= {"moves": str(result.stats["moves"]), "s": number(seconds["ours"], 3), "energy": str(result.energy)}
        for baseline in list(runs)[1:]:
            quotient = ratio(seconds[baseline], seconds["ours"])
            ratios.setdefault(f"{baseline} / ours", []).append(quotient)
            energy = str(gridcut.energy_of(results[baseline], *problem))
            row |= {f"{baseline} s": number(seconds[baseline], 3), f"its energy, {baseline}": energy}
            row[f"{baseline} / ours"] = number(quotient)
        yield row


def on_gpu(name, problem, move, options, ratios):
    """A row for each number of restarts; one of swaps, which have none."""
    start = np.zeros(problem.unary.shape[1:], np.int32)
    held = LabelInstance(
        device_array(problem.unary),
        {o: device_array(np.broadcast_to(w, start.shape)) for o, w in problem.weights.items()},
        problem.cost,
    )
    theirs, energy = (None, "-") if options.quick else gco_of(problem, move, start)
    for how in [{"restarts": n} for n in options.restarts or (0, 2)] if move == "expansion" else [{}]:
        on_card = partial(SOLVE[move], *held, start=device_array(start), device="cuda", **how)
        host = partial(SOLVE[move], *problem, start=start, **how)
        result = on_card()
        card = median(gpu.timed(on_card)[0] for _ in range(options.repeats))
        host(device="cuda")
        transfers = median(gpu.timed(partial(host, device="cuda"))[0] for _ in range(options.repeats))
        cpu = None
        if options.quick:
            result.check()
        else:
            cpu = compared(name, result, host)
        row = {
            "instance": name,
            "size": "x".join(map(str, problem.unary.shape)),
            "restarts": str(how.get("restarts", "-")),
        }
        row |= {"certified": "✓" if options.quick else "equal", "energy": str(result.energy)}
        row |= {key: str(result.stats[key]) for key in ("moves", "rounds")}
        row |= {"on card s": number(card, 4), "transfers s": number(transfers, 4)}
        row |= {"CPU s": number(cpu, 3), "gco-wrapper s": number(theirs, 3), "its energy": energy}
        for baseline, spent in (("gco-wrapper", theirs), ("CPU", cpu)):
            ratios.setdefault(f"{baseline} / on card", []).append(ratio(spent, card))
            row[f"{baseline} / on card"] = number(ratio(spent, card), 1)
        yield row


def compared(name, result, host) -> float:
    """Seconds of the CPU, whose labels and energies must be the same."""
    host(device="cpu", max_cycles=1)
    expected, seconds = timed(partial(host, device="cpu"))
    same = (to_host(result.labels) == expected.labels).all()
    if not same or result.stats["energies"] != expected.stats["energies"]:
        raise AssertionError(f"{name}: energy {result.energy} on the GPU, {expected.energy} on the CPU")
    return seconds


def gco_of(problem, move, start):
    """Seconds and energy of gco-wrapper, once; (None, "-") where it is missing or would take too long."""
    if not BASELINES["gco-wrapper"].installed or problem.unary.size > LARGEST:
        return None, "-"
    labels, seconds = timed(BASELINES["gco-wrapper"].prepare(problem, move, start.copy()))
    return seconds, str(gridcut.energy_of(labels, *problem))


def _parser():
    parser = command.parser("labels", __doc__, "labels-{device}", data="CUTMATCH_LABELS_DATA", devices=True, repeats=3)
    names = ", ".join(INSTANCES | LARGE)
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", help=f"of: {names} (default: all of the device)")
    parser.add_argument("--start", nargs="+", choices=("zero", "cheapest"), default=["zero"], help="on the CPU")
    parser.add_argument("--restarts", type=int, nargs="+", help="of expansions (default: theirs; on a GPU also 0)")
    parser.add_argument("--quick", action="store_true", help="on a GPU: without the CPU and gco-wrapper")
    return parser
