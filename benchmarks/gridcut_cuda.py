"""`python -m benchmarks gridcut --device cuda`: max-flow on a GPU, against the CPU default and PyMaxflow.

kernel s          the solve, and what the GPU still has to load when it starts; before the labels are written
on card s         from arrays on the GPU to value and labels on the GPU, synchronised
transfers s       from arrays on the host to value and labels on the host
CPU s             the CPU's default method with all threads of this machine, arrays to labels
PyMaxflow s       build, solve and labels; once if that takes over 4 s, else the median of --repeats
bytes/pixel       maximum GPU memory in use, excluding inputs
equal runs        runs with the value and labels of the first, and number of runs (--runs, fewer above --timeout)

A row appears only if `cut.check()` certified the cut and its value equals PyMaxflow's and the recorded
one.  Compilation is over before a clock starts.
A method that takes more than --timeout seconds is stopped and listed as such.
"""

import time
from statistics import median

import numba
import numpy as np

import gridcut
from benchmarks import baselines, command, gpu
from benchmarks import gridcut as on_cpu
from benchmarks.gpu import to_host
from benchmarks.instances import ALL, VALUES, Problem
from benchmarks.table import markdown, means, number, ratio
from benchmarks.timing import rounds

DEVICE = "cuda"
BASELINE = "PyMaxflow"
PYMAXFLOW = baselines.BASELINES["grids"][BASELINE]
RARELY = 4.0  # seconds; a program that takes longer is timed once
CORNER = 96  # pixels per side of the part of an instance that kernels are compiled on

COLUMNS = ["instance", "size", "method", "certified", "kernel s", "on card s", "transfers s"]
COLUMNS += ["CPU s", f"{BASELINE} s", f"{BASELINE} / on card", f"{BASELINE} / transfers", "CPU / on card"]
COLUMNS += ["bytes/pixel", "equal runs"]


class OverTheCapError(Exception):
    """Raised in a solver's callback."""


def main(argv):
    options = parser().parse_args(argv)
    names = options.instances or ([] if options.warm or options.batch else list(ALL))
    command.known_instances(names, ALL)
    programs = ["numba-cuda", "numba", "numpy", PYMAXFLOW.distribution]
    report = command.gpu_header("gridcut --device cuda", "gridcut on a GPU", programs)
    parts = []
    if names:
        parts.append(cold_table(names, options))
    if options.batch:
        parts.append(batch_table(options))
    if options.warm:
        where = {"device": DEVICE, "place": gpu.device_array, "wait": gpu.synchronize}
        parts.append(on_cpu.warm_table(options.warm, options.method, options.repeats, **where))
    return command.finish(report, "\n\n".join(parts), options.save)


def cold_table(names, options):
    rows, ratios = [], {}
    for name in names:
        start = time.perf_counter()
        problem = ALL[name]()
        print(f"{name}: built in {time.perf_counter() - start:.1f} s", flush=True)
        other = {} if options.quick else times_on_the_cpu(problem, options.repeats)
        for method in options.method:
            row, of = measure(name, problem, method, other, options)
            rows += command.shown([row])
            on_cpu.add(ratios, name, method, COLUMNS[9:12], of)
    lines = [markdown(COLUMNS, rows), "", means(ratios)]
    lines += ["", f"CPU: {numba.config.NUMBA_NUM_THREADS} threads; more than {RARELY:g} s were timed once."]
    return "\n".join(lines)


def measure(name, problem, method, other, options):
    """One row, and its three ratios, None where they were not measured."""
    size = "x".join(map(str, problem.source.shape))
    solve(corner(problem), method)  # compiles
    solve(on_device(corner(problem)), method)
    held = on_device(problem)
    try:
        cut, used = memory_and_cut(held, method, options.timeout)
    except OverTheCapError:
        return [name, size, method, "stopped", "-", f"> {options.timeout:g}", *["-"] * 8], [None] * 3
    cut.check()
    value = other.get("value", VALUES[name])
    if not cut.value == value == VALUES[name]:
        raise AssertionError(f"{name}, {method}: value {cut.value}, {BASELINE} {value}, known {VALUES[name]}")
    kernel, card, equal = runs_on_card(held, cut, options)
    del held
    timed(problem, method)  # compiles the copies of large arrays
    whole = median(timed(problem, method)[0] for _ in range(options.repeats))
    row = [name, size, cut.method, "✓", f"{kernel:.4f}", f"{card:.4f}", f"{whole:.4f}"]
    cpu, baseline = other.get("cpu"), other.get("baseline")
    of = [ratio(baseline, card), ratio(baseline, whole), ratio(cpu, card)]
    row += [number(cpu, 3), number(baseline, 3), *(number(one, 1) for one in of)]
    return [*row, f"{used / problem.source.size:.1f}", equal], of


def runs_on_card(held, cut, options):
    """Median seconds of the solve alone and of the call, and how many runs gave the cut's value and labels."""
    card, kernel, labels = [], [], to_host(cut.labels)
    begin = time.perf_counter()
    while len(card) < options.runs and (not card or time.perf_counter() - begin < options.timeout):
        seconds, again = timed(held, cut.method)
        card.append(seconds)
        kernel.append(again.stats["seconds"]["solve"])
        if again.value != cut.value or (to_host(again.labels) != labels).any():
            raise AssertionError(f"{cut.method}: run {len(card)} gave another cut, value {again.value}")
    return median(kernel), median(card), f"{len(card)} of {len(card)}"


def solve(problem, method, callback=None):
    return gridcut.max_flow(
        problem.source, problem.sink, problem.edges, device=DEVICE, method=method, callback=callback
    )


def timed(problem, method):
    """Seconds of a solve with its labels, nothing left to do on the GPU; and the cut."""
    return gpu.timed(lambda: on_cpu.touched(solve(problem, method), problem))


def memory_and_cut(problem, method, cap):
    """A solve that is stopped after `cap` seconds; the cut, and the maximum bytes of GPU memory that were observed."""
    before = least = free_memory()
    start = time.perf_counter()

    def watch(stats):
        nonlocal least
        least = min(least, free_memory(flush=False))
        if time.perf_counter() - start > cap:
            raise OverTheCapError

    cut = solve(problem, method, watch)
    return cut, before - min(least, free_memory(flush=False))


def free_memory(flush=True):
    """Bytes free on the GPU; `flush`: after unused memory has been released."""
    from gridcut.device.arrays import release_memory
    from gridcut.device.cuda import cuda

    if flush:
        release_memory()
    return cuda.current_context().get_memory_info().free


def on_device(problem):
    """A copy of a problem on the GPU."""
    return Problem(
        gpu.device_array(problem.source),
        gpu.device_array(problem.sink),
        {offset: gpu.device_array(array) for offset, array in problem.edges.items()},
    )


def corner(problem):
    """A small part of a problem, for the same kernels."""
    part = tuple(slice(0, CORNER // 4 if problem.source.ndim == 3 else CORNER) for _ in problem.source.shape)
    return Problem(
        problem.source[part].copy(), problem.sink[part].copy(), {o: c[part].copy() for o, c in problem.edges.items()}
    )


def times_on_the_cpu(problem, repeats):
    """Seconds of the CPU's default, of the baseline if it is installed, and the value that both found."""
    threads = numba.config.NUMBA_NUM_THREADS
    runs = {"cpu": lambda: on_cpu.solve(problem, "auto", threads).value}
    runs["cpu"]()  # compiles what it uses, which depends on the size
    if PYMAXFLOW.installed:
        run = PYMAXFLOW.prepare(problem)
        runs["baseline"] = lambda: run()[0]
    seconds, found = rounds(runs, repeats, RARELY)
    if len(set(found.values())) > 1:
        raise AssertionError(f"CPU {found['cpu']}, {BASELINE} {found['baseline']}")
    return {**seconds, "value": found["cpu"]}


BATCH_OF = ("astronaut x4", "coffee x4", "retina", "grey hubble x2", "ising camera x4")


def crops(count, side=256, seed=0):
    """Problems of `side` x `side` pixels cut out of the instances at random places, as a Problem of stacks."""
    rng = np.random.default_rng(seed)
    stacks = []
    for i, name in enumerate(BATCH_OF):
        problem = ALL[name]()
        for _ in range(len(range(i, count, len(BATCH_OF)))):
            y, x = (int(rng.integers(d - side + 1)) for d in problem.source.shape)
            arrays = [problem.source, problem.sink, problem.edges[0, 1], problem.edges[1, 0]]
            part = [a[y : y + side, x : x + side].copy() for a in arrays]
            part[2][:, -1] = 0
            part[3][-1] = 0
            stacks.append(part)
    source, sink, right, down = (np.stack(arrays) for arrays in zip(*stacks, strict=True))
    return Problem(source, sink, {(0, 1): right, (1, 0): down})


def batch_table(options):
    """Many small problems in one batch, one after another, and on the CPU."""
    stack = crops(options.batch)
    held = on_device(stack)
    singles = [
        Problem(s, t, {o: c[i] for o, c in stack.edges.items()})
        for i, (s, t) in enumerate(zip(stack.source, stack.sink, strict=True))
    ]
    held_singles = [on_device(one) for one in singles]

    def batch(problem, device=DEVICE):
        return gridcut.max_flow_batch(problem.source, problem.sink, problem.edges, device=device)

    runs = {
        "in one batch, on card": lambda: batch(held),
        "in one batch, transfers": lambda: batch(stack),
        f"in one batch, CPU, {numba.config.NUMBA_NUM_THREADS} threads": lambda: batch(stack, "cpu"),
        "one after another, on card": lambda: [solve(one, "auto") for one in held_singles],
        "one after another, CPU, 1 thread": lambda: [on_cpu.solve(one, "auto", 1) for one in singles],
    }
    if PYMAXFLOW.installed:
        runs[f"one after another, {BASELINE}"] = lambda: [PYMAXFLOW.prepare(one)()[0] for one in singles]
    result = batch(held)
    result.check()
    for i, one in enumerate(singles):
        if (alone := on_cpu.solve(one, "auto", 1).value) != result.values[i]:
            raise AssertionError(f"image {i}: batch {result.values[i]}, alone {alone}")
    seconds = {}
    for name, run in runs.items():
        times = [gpu.timed(run)[0] for _ in range(options.repeats + 1)][1:]
        seconds[name] = median(times)
    best = seconds["in one batch, on card"]
    rows = [
        [name, str(options.batch), "✓", f"{s:.4f}", f"{1e3 * s / options.batch:.3f}", f"{s / best:.1f}"]
        for name, s in seconds.items()
    ]
    shape = "x".join(map(str, stack.source.shape[1:]))
    return markdown([f"images of {shape}", "images", "certified", "s", "ms an image", "to the batch on card"], rows)


def parser():
    options = command.parser("gridcut --device cuda", __doc__, "gridcut-cuda", repeats=3)
    options.add_argument("instances", nargs="*", metavar="INSTANCE", help="names (default: all)")
    options.add_argument("--method", type=lambda s: s.split(","), default=["auto"], help="methods, comma-separated")
    options.add_argument(
        "--runs", type=int, default=10, help="runs on the GPU, all of which must agree (default: %(default)s)"
    )
    options.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="for one solve, and for --runs")
    options.add_argument("--quick", action="store_true", help="neither CPU nor baseline: recorded values only")
    options.add_argument("--batch", nargs="?", type=int, const=256, metavar="IMAGES", help="many small images")
    options.add_argument("--warm", nargs="?", const="astronaut x8", metavar="INSTANCE", help="re-solves after changes")
    return options
