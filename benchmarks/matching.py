"""`python -m benchmarks matching`: maximum-cardinality bipartite matching, against SciPy and igraph.

  python -m benchmarks matching                                   the families, the default method, one thread
  python -m benchmarks matching "rmat 2^18" --threads 1,2         some of them; the gain of threads
  python -m benchmarks matching --method auto,push_relabel+cheap,hopcroft_karp --permuted --timeout 60

ours       matching.maximum from a SciPy matrix to a matching, including validation, transposition and initial matching
solve      the same without validating and transposing the input
SciPy, igraph   from the form that suits each, prepared before the clock starts

Medians of --repeats, interleaved; a program that takes more than ONCE_ABOVE seconds is timed once.  SciPy needs
exponential time on permuted meshes, so it runs there only with --timeout, which runs all programs in a separate process
and stops those over the limit.  A row appears only if the matching is certified (König cover) and all programs agree on
its size.
"""

from benchmarks import command, harness
from benchmarks import matching_instances as instances
from benchmarks import matching_tables as tables
from benchmarks.matching_programs import BASELINES, CpuBench, Program, program_of

ONCE_ABOVE = 4.0  # seconds


def main(argv):
    options = parser().parse_args(argv)
    graphs = families(options)
    known = instances.known() | graphs
    if command.unknown_instance(options.instances, known):
        return 2
    try:
        methods = [program_of(text, "cpu", threads=options.threads[0]) for text in options.method.split(",")]
    except ValueError as error:
        print(f"benchmarks matching: {error}")
        return 2
    graphs = {name: known[name] for name in options.instances} or graphs
    report = command.begin("matching on a CPU", ["numba", "numpy", "scipy", "python-igraph"])
    return command.finish(report, run_methods(graphs, methods, options), options.save)


def families(options):
    found = instances.QUICK if options.quick else instances.PLAIN
    return instances.with_permuted(found) if options.permuted else found


def run_methods(graphs, methods, options):
    measured = []
    for name, make in graphs.items():
        programs = list(methods)
        for t in options.threads[1:]:
            given = [{**p.parameters, "threads": t} for p in methods]
            programs += [
                p._replace(name=f"{p.name}, {t} threads", parameters=own) for p, own in zip(methods, given, strict=True)
            ]
        for baseline in BASELINES:
            if options.timeout is None and baseline == "SciPy" and instances.hopeless_for_scipy(name):
                continue
            if BASELINES[baseline].installed:
                programs.append(Program(baseline))
        worker = harness.Worker(make(), options.timeout, CpuBench)
        found = harness.measure(name, worker, programs, options.repeats, ONCE_ABOVE)
        found.raise_failures()
        measured.append(found)
        print(name, *(f"{who} {tables.milliseconds(s)}" for who, s in found.seconds.items()), flush=True)
    names = [p.name for p in methods]
    sections = [tables.detail(measured, names, options.threads), tables.means(measured, names)]
    return "\n\n".join(section for section in sections if section)


def common_options(name: str, description: str, device: str):
    """A parser with the options that this command has on both devices."""
    options = command.parser(name, description, f"matching-{device}")
    options.add_argument("instances", nargs="*", metavar="GRAPH", help="graphs by name (default: the families)")
    options.add_argument("--permuted", action="store_true", help="also with rows and columns permuted")
    return options


def parser():
    options = common_options("matching", __doc__, "cpu")
    options.add_argument("--method", default="auto", help="METHOD or METHOD+INIT, or several separated by commas")
    options.add_argument(
        "--threads", type=command.threads_of, default=[1], metavar="N,...", help="baselines compare with the first"
    )
    options.add_argument("--quick", action="store_true", help="small graphs")
    options.add_argument("--timeout", type=float, metavar="SECONDS", help="stop programs that take longer")
    options.add_argument("--repeats", type=int, default=3, help="(default: %(default)s)")
    return options
