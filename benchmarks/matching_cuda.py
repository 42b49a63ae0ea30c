"""`python -m benchmarks matching --device cuda`: maximum bipartite matching on a GPU, against the CPU's default.

  python -m benchmarks matching --device cuda --cache /tmp/graphs            the default method on all graphs
  python -m benchmarks matching --device cuda "road 1000^2" --method all     every variant of the papers
  python -m benchmarks matching --device cuda --permuted --method auto,apfb-gpubfs_wr-ct+cheap
  python -m benchmarks matching --device cuda --paper                        Table I of the ICPP paper, reproduced

init, search    on the GPU, from a graph with the lists of both sides to a matching; on card: both
call            matching.maximum from arrays on the GPU to arrays there, including validation and transposition
transfers       matching.maximum from arrays on the host to arrays on the host
CPU             matching.maximum's default on this machine, one thread, from a graph on the host
ECL-MM          recorded once on an H200, not measured here: other graphs of the same families and sizes

Medians of --runs, interleaved, whole calls of CALLS and the CPU of CPU_RUNS of them; a program that takes more than
ONCE_ABOVE seconds is timed once.  A time appears only if the program's matching is certified (König cover, on the CPU),
and if every run found as many pairs as the CPU.
"""

from benchmarks import command, harness
from benchmarks import matching_instances as instances
from benchmarks import matching_tables as tables
from benchmarks.harness import CPU
from benchmarks.matching import common_options
from benchmarks.matching_programs import VARIANTS, GpuBench, program_of

ONCE_ABOVE = 2.0  # seconds
CALLS, CPU_RUNS = 5, 3


def main(argv):
    options = parser().parse_args(argv)
    names = names_of(options)
    if command.unknown_instance(names, instances.known()):
        return 2
    try:
        programs = [program_of(text) for text in methods_of(options)]
    except ValueError as error:
        print(f"benchmarks matching --device cuda: {error}")
        return 2
    report = command.gpu_header(
        "matching --device cuda", "matching on a GPU", ["numba-cuda", "numba", "numpy", "scipy"]
    )
    if report is None:
        return 2
    measured = []
    who = [p.name for p in programs]
    for name, path in instances.prepared(names, options.cache).items():
        worker = harness.Worker(path, options.timeout, GpuBench)
        found = harness.measure(name, worker, programs, options.runs, ONCE_ABOVE, CALLS, CPU_RUNS, say=say)
        measured.append(found)
        print(report_of(found), flush=True)
    command.finish(report, text_of(measured, who, options), options.save)
    return int(any(m.failures for m in measured))


def text_of(measured, names, options):
    parts = [tables.gpu_detail(measured, names)]
    if len(measured) > 1:
        parts.append(tables.gpu_means(measured, names))
    if options.paper:
        parts.append(tables.as_in_paper(measured))
    return "\n" + "\n\n".join(parts)


def say(*words):
    print("  ", *words, flush=True)


def methods_of(options):
    if options.method is None:
        return tables.WITH_PAPER if options.paper else ("auto",)
    return tuple(VARIANTS) if options.method == "all" else options.method.split(",")


def names_of(options):
    names = options.instances or list(instances.PRINTED if options.paper else instances.ON_GPU)
    return [one for name in names for one in (name, name + instances.PERMUTED)] if options.permuted else names


def report_of(m):
    return (
        f"{m.name}: {m.shape[0]} x {m.shape[1]}, {m.entries} entries, maximum {m.size}, "
        f"CPU {tables.hundredths(m.seconds[CPU])} ms"
    )


def parser():
    options = common_options("matching --device cuda", __doc__, "cuda")
    options.add_argument(
        "--method", metavar="NAME,...", help="variants, each optionally with +INIT, or all (default: auto)"
    )
    options.add_argument("--paper", action="store_true", help="the papers' graphs; generating them takes minutes")
    options.add_argument("--runs", type=int, default=10, help="(default: %(default)s)")
    instances.add_cache_options(options)
    return options
