"""`python -m benchmarks matching`: maximum-cardinality bipartite matching, against SciPy and igraph.

  python -m benchmarks matching                                   the families, the default method, one thread
  python -m benchmarks matching "rmat 2^18" a.mtx --threads 1,2   some of them, files; the gain of threads
  python -m benchmarks matching --method auto,push_relabel+cheap,hopcroft_karp --permuted --timeout 60 --profile NAME
  python -m benchmarks matching --steps                           direction optimisation and grafting, switched
  python -m benchmarks matching --small                           the cost of a call on small matrices

ours       matching.maximum from a SciPy matrix to a matching, including validation, transposition and initial matching
solve      the same without validating and transposing the input
SciPy, igraph   from the form that suits each, prepared before the clock starts

Medians of --repeats, interleaved.  SciPy needs exponential time on permuted meshes, so it runs there only with
--timeout, which runs all programs in a separate process and stops those over the limit.  A row appears only if the
matching is certified (König cover) and all programs agree on its size.
"""

from benchmarks import command, harness, matching_images
from benchmarks import matching_instances as instances
from benchmarks import matching_tables as tables
from benchmarks.matching_programs import BASELINES, CpuBench, Program, program_of
from benchmarks.table import header


def main(argv):
    options = parser().parse_args(argv)
    try:
        graphs = instances.chosen(options.instances, families(options))
        methods = [
            program_of(text, options.init, "cpu", threads=options.threads[0]) for text in options.method.split(",")
        ]
    except (OSError, ValueError) as error:
        print(f"benchmarks matching: {error}")
        return 2
    report = header("matching on a CPU", ["numba", "numpy", "scipy", "python-igraph"])
    print(report, flush=True)
    run = run_calls if options.small else run_steps if options.steps else run_methods
    text = run(graphs, methods, options)
    return command.finish(report, text, options.save, shown=False)


def families(options):
    if options.small:
        return instances.SMALL
    found = instances.QUICK if options.quick else instances.PLAIN
    found = found | instances.HARD if options.hard else found
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
        for baseline in options.baselines:
            if options.timeout is None and baseline == "SciPy" and instances.hopeless_for_scipy(name):
                continue
            if BASELINES[baseline].installed:
                programs.append(Program(baseline))
        worker = harness.Worker(make(), options.timeout, CpuBench)
        found = harness.measure(name, worker, programs, options.repeats, options.time_once_above)
        for who, state in found.failures.items():
            raise AssertionError(f"{name}: {who}: {state}")
        measured.append(found)
        print(name, *(f"{who} {tables.milliseconds(s)}" for who, s in found.seconds.items()), flush=True)
    names = [p.name for p in methods]
    sections = [tables.detail(measured, names, options.threads), tables.means(measured, names)]
    everyone = [*names, *(baseline for baseline in options.baselines if any(baseline in m.seconds for m in measured))]
    if len(methods) > 1:
        sections.append(tables.by_method(measured, everyone))
    if options.statistics:
        sections.append(tables.statistics(measured, names))
    text = "\n\n".join(section for section in sections if section)
    print(text)
    if options.profile:
        figure, count = matching_images.profiles(measured, everyone)
        if figure is None:
            print("no profile: no graph was given to every program; set --timeout or leave SciPy out")
        else:
            print(f"profiles of {count} graphs saved to", matching_images.save(figure, options.profile))
    return text


def run_steps(graphs, methods, options):
    init = "karp_sipser_one_sided" if options.init == "auto" else options.init
    taken = {}
    for name, make in graphs.items():
        taken[name] = tables.measure_steps(name, make(), init, options.threads[0], options.repeats)
        print(name, *(f"{step} {1e3 * s:.1f}" for step, s in taken[name].seconds.items()), flush=True)
    text = f"{options.threads[0]} threads, after {init}\n\n{tables.steps(taken)}"
    print(text)
    if options.profile:
        print("image saved to", matching_images.save(matching_images.steps(taken), options.profile))
    return text


def run_calls(graphs, methods, options):
    text = tables.calls(graphs, max(options.repeats, 7))
    print(text)
    return text


def baselines_of(text):
    found = [name for name in BASELINES if name.lower() in text.lower().split(",")]
    if text and len(found) != len(text.split(",")):
        raise ValueError
    return found


def common_options(name: str, description: str, device: str, once_above: float):
    """A parser with the options that this command has on both devices."""
    options = command.parser(name, description, f"matching-{device}")
    files = ", ".join(instances.FILES)
    options.add_argument("instances", nargs="*", help=f"graphs by name, or {files} files (default: the families)")
    options.add_argument("--init", default="auto", help="initial matching of methods that specify none (default: auto)")
    options.add_argument("--permuted", action="store_true", help="also with rows and columns permuted")
    options.add_argument(
        "--time-once-above",
        type=float,
        default=once_above,
        metavar="SECONDS",
        help="time a program once if it takes longer (default: %(default)s)",
    )
    options.add_argument(
        "--profile", metavar="NAME", help="write benchmarks/results/NAME.png, or NAME if it ends in .png"
    )
    return options


def parser():
    options = common_options("matching", __doc__, "cpu", once_above=4.0)
    options.add_argument("--method", default="auto", help="METHOD or METHOD+INIT, or several separated by commas")
    options.add_argument(
        "--threads", type=command.threads_of, default=[1], metavar="N,...", help="baselines compare with the first"
    )
    options.add_argument("--hard", action="store_true", help="also hard graphs")
    options.add_argument("--quick", action="store_true", help="small graphs")
    options.add_argument("--timeout", type=float, metavar="SECONDS", help="stop programs that take longer")
    options.add_argument(
        "--baselines", type=baselines_of, default=list(BASELINES), metavar="NAME,...", help="scipy,igraph"
    )
    options.add_argument("--repeats", type=int, default=3, help="(default: %(default)s)")
    options.add_argument("--statistics", action="store_true", help="print edges, phases and paths of each method")
    options.add_argument("--steps", action="store_true", help="time ms_bfs_graft with each of its two steps on and off")
    options.add_argument("--small", action="store_true", help="time whole calls on small matrices, in microseconds")
    return options
