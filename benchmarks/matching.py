"""`python -m benchmarks matching`: maximum-cardinality bipartite matching, against SciPy and igraph.

  python -m benchmarks matching                                   the families, the default method, one thread
  python -m benchmarks matching "rmat 2^18" a.mtx --threads 1,2   some of them, files; what threads gain
  python -m benchmarks matching --method auto,push_relabel+cheap,hopcroft_karp --permuted --timeout 60 --profile NAME
  python -m benchmarks matching --steps                           direction optimisation and grafting, switched
  python -m benchmarks matching --small                           the cost of a call on small matrices

ours       matching.maximum from a SciPy matrix to a matching: checking, transposing and initialisation included
solve      the same without the check of the input and without transposing it
SciPy, igraph   from the form each likes best, made before the clock starts

Medians of --repeats, one after another.  SciPy takes exponential time on permuted meshes, so it runs there only with
--timeout, which tries every program in a process of its own first and stops it.  A row appears only if the matching is
certified (König cover) and all programs agree on its size.
"""

import argparse

from benchmarks import matching_instances as instances
from benchmarks import matching_pictures as pictures
from benchmarks import matching_tables as tables
from benchmarks.matching_runs import BASELINES, Program, measure, program_of
from benchmarks.table import header, save


def main(argv):
    options = parser().parse_args(argv)
    try:
        graphs = instances.chosen(options.instances, families(options))
        methods = [program_of(text, options.init, options.threads[0]) for text in options.method.split(",")]
    except (OSError, ValueError) as error:
        print(f"benchmarks matching: {error}")
        return 2
    report = header("matching on a CPU", ["numba", "numpy", "scipy", "python-igraph"])
    print(report, flush=True)
    run = run_calls if options.small else run_steps if options.steps else run_methods
    text = run(graphs, methods, options)
    if options.save:
        print("saved to", save(options.save, f"{report}\n{text}"))
    return 0


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
            programs += [Program(f"{p.name}, {t} threads", {**p.how, "threads": t}) for p in methods]
        for baseline in options.baselines:
            if baseline != "SciPy" or options.timeout is not None or not instances.hopeless_for_scipy(name):
                programs.append(Program(baseline))
        measured.append(measure(name, make(), programs, options.repeats, options.time_once_above, options.timeout))
        print(name, *(f"{who} {tables.milliseconds(s)}" for who, s in measured[-1].seconds.items()), flush=True)
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
        figure, count = pictures.profiles(measured, everyone)
        if figure is None:
            print("no profile: there is no graph that every program was tried on; give --timeout or leave SciPy out")
        else:
            print(f"profiles of {count} graphs saved to", pictures.save(figure, options.profile))
    return text


def run_steps(graphs, methods, options):
    init = "karp_sipser_one_sided" if options.init == "auto" else options.init
    taken = {}
    for name, make in graphs.items():
        taken[name] = tables.measure_steps(make(), init, options.threads[0], options.repeats)
        print(name, *(f"{step} {1e3 * s:.1f}" for step, s in taken[name].seconds.items()), flush=True)
    text = f"{options.threads[0]} threads, after {init}\n\n{tables.steps(taken)}"
    print(text)
    if options.profile:
        print("picture saved to", pictures.save(pictures.steps(taken), options.profile))
    return text


def run_calls(graphs, methods, options):
    text = tables.calls(graphs, max(options.repeats, 7))
    print(text)
    return text


def threads_of(text):
    found = [int(part) for part in text.split(",")]
    if min(found) < 1:
        raise ValueError
    return found


def baselines_of(text):
    found = [name for name in BASELINES if name.lower() in text.lower().split(",")]
    if text and len(found) != len(text.split(",")):
        raise ValueError
    return found


def parser():
    options = argparse.ArgumentParser(
        prog="python -m benchmarks matching", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("instances", nargs="*", help="graphs by name, or .mtx, .mtx.gz, .npz files; the families")
    options.add_argument("--method", default="auto", help="METHOD or METHOD+INIT, or several with commas between")
    options.add_argument("--init", default="auto", help="of methods that name none")
    options.add_argument("--threads", type=threads_of, default=[1], metavar="N,...", help="the first is compared")
    options.add_argument("--permuted", action="store_true", help="also with rows and columns permuted")
    options.add_argument("--hard", action="store_true", help="also graphs made to be hard")
    options.add_argument("--quick", action="store_true", help="small graphs")
    options.add_argument("--timeout", type=float, metavar="SECONDS", help="stop a program that takes longer")
    options.add_argument(
        "--baselines", type=baselines_of, default=list(BASELINES), metavar="NAME,...", help="scipy,igraph"
    )
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument(
        "--time-once-above", type=float, default=4.0, metavar="SECONDS", help="timed once if it takes longer"
    )
    options.add_argument("--statistics", action="store_true", help="edges, phases and paths of each method")
    options.add_argument("--steps", action="store_true", help="ms_bfs_graft with each of its two steps on and off")
    options.add_argument("--small", action="store_true", help="microseconds of whole calls on small matrices")
    options.add_argument("--profile", metavar="NAME", help="write benchmarks/results/NAME.png")
    options.add_argument("--save", metavar="NAME", help="write benchmarks/results/NAME.md")
    return options
