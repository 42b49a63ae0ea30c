"""`python -m benchmarks matching --device cuda`: maximum bipartite matching on a GPU, against the CPU's default.

  python -m benchmarks matching --device cuda --cache /tmp/graphs            the families, the default method
  python -m benchmarks matching --device cuda "road 1000^2" --method all     every variant of the papers
  python -m benchmarks matching --device cuda --permuted --method auto,apfb-gpubfs_wr-ct+cheap
  python -m benchmarks matching --device cuda --paper                        Table I of the ICPP paper, reproduced
  python -m benchmarks matching --device cuda --orderings                    its Fig. 1, and Table 1 of Euro-Par's
  python -m benchmarks matching --device cuda --rule                         the size from which on a GPU is faster
  python -m benchmarks matching --device cuda --prepare                      generates the graphs in parallel, and ends
  python -m benchmarks matching --device cuda --rows a.json                  keeps the measurements, too
  python -m benchmarks matching --device cuda --read a.json,b.json --profile docs/images/x.png      plots them; no GPU

init, search    on the GPU, from a graph with the lists of both sides to a matching; on card: both
call            matching.maximum from arrays on the GPU to arrays there, including validation and transposition
transfers       matching.maximum from arrays on the host to arrays on the host
CPU             matching.maximum's default on this machine, one thread, from a graph on the host
ECL-MM          recorded once on an H200, not measured here: other graphs of the same families and sizes

Medians of --runs, interleaved; a program that takes more than --time-once-above seconds is timed once.  A time appears
only if the program's matching is certified (König cover, on the CPU), and if every run found as many pairs as the CPU.
"""

from benchmarks import command, harness, matching_images, matching_rule
from benchmarks import matching_instances as instances
from benchmarks import matching_tables as tables
from benchmarks.harness import CPU
from benchmarks.matching import common_options
from benchmarks.matching_programs import VARIANTS, GpuBench, GpuRun, program_of
from benchmarks.table import save


def main(argv):
    options = parser().parse_args(argv)
    try:
        programs = [program_of(text, options.init) for text in methods_of(options)]
        if options.read:
            report, measured = harness.read(options.read.split(","), GpuRun)
            return finish(report, measured, programs_read(measured, programs, options), options)
        names = names_of(options)
    except (OSError, ValueError) as error:
        print(f"benchmarks matching --device cuda: {error}")
        return 2
    if options.prepare:
        return instances.prepare(names, options.cache)
    report = command.gpu_header(
        "matching --device cuda", "matching on a GPU", ["numba-cuda", "numba", "numpy", "scipy"]
    )
    if report is None:
        return 2
    if options.rule:
        return command.finish(report, "\n" + matching_rule.run(options.runs), options.save)
    measured = []
    who = [p.name for p in programs]
    for name, path in instances.prepared(names, options.cache).items():
        worker = harness.Worker(path, options.timeout, GpuBench)
        rounds, once_above = options.runs, options.time_once_above
        found = harness.measure(name, worker, programs, rounds, once_above, options.calls, options.cpu, say=say)
        measured.append(found)
        print(report_of(found), flush=True)
        # Save after each graph, since the next one may take very long.
        if options.rows:
            harness.write(options.rows, report, measured)
        if options.save:
            save(options.save, f"{report}\n{text_of(measured, who, options)}")
    return finish(report, measured, who, options)


def finish(report, measured, names, options):
    """Tables and figures of the measurements; the exit status."""
    text = text_of(measured, names, options)
    print(f"\n{text}")
    if options.profile:
        cpu = [CPU] * any(CPU in m.seconds for m in measured)
        figure, count = matching_images.profiles(measured, names + cpu, CPU)
        if figure is None:
            print("no profile: no graph was given to every program")
        else:
            print(f"profile of {count} graphs saved to", matching_images.save(figure, options.profile))
    command.finish(report, text, options.save, shown=False)
    return int(any(m.failures for m in measured))


def programs_read(measured, programs, options):
    """Names of the requested programs; without a request, all in the files."""
    if options.method or options.paper or options.orderings:
        return [p.name for p in programs]
    return list(dict.fromkeys(who for m in measured for who in m.state))


def text_of(measured, names, options):
    parts = [tables.gpu_detail(measured, names)]
    if len(measured) > 1:
        parts.append(tables.gpu_means(measured, names))
    if options.paper:
        parts.append(tables.as_in_paper(measured))
    if options.orderings:
        parts += [tables.relabellings(measured), tables.searches(measured)]
    return "\n\n".join(parts)


def say(*words):
    print("  ", *words, flush=True)


def methods_of(options):
    if options.orderings:
        return [name for name in VARIANTS if name.startswith(("g_pr", "ap"))]
    if options.method is None:
        return tables.WITH_PAPER if options.paper else ("auto",)
    return tuple(VARIANTS) if options.method == "all" else options.method.split(",")


def names_of(options):
    names = options.instances
    if not names:
        names = instances.PRINTED if options.paper else instances.MEDIUM if options.orderings else instances.FAMILIES
    if options.permuted:
        names = [one for name in names for one in (name, name + instances.PERMUTED)]
    return instances.checked_names(names, instances.known())


def report_of(m):
    cpu = f", CPU {tables.hundredths(m.seconds[CPU])} ms" if CPU in m.seconds else ""
    return f"{m.name}: {m.shape[0]} x {m.shape[1]}, {m.entries} entries, maximum {m.size}{cpu}"


def parser():
    options = common_options("matching --device cuda", __doc__, "cuda", once_above=2.0)
    options.add_argument(
        "--method", metavar="NAME,...", help="variants, each optionally with +INIT, or all (default: auto)"
    )
    kind = options.add_mutually_exclusive_group()
    kind.add_argument("--paper", action="store_true", help="the papers' graphs; generating them takes minutes")
    kind.add_argument("--orderings", action="store_true", help="compare orders of relabeling, and kinds of search")
    kind.add_argument(
        "--rule", action="store_true", help="time whole calls by size: from which on should 'auto' use a GPU?"
    )
    options.add_argument("--runs", type=int, default=10, help="(default: %(default)s)")
    options.add_argument("--calls", type=int, default=5, help="of the runs, those that time whole calls, too; 0: none")
    options.add_argument("--cpu", type=int, default=3, metavar="RUNS", help="runs of the CPU's default; 0: none")
    instances.add_cache_options(options)
    options.add_argument("--rows", metavar="FILE.json", help="keep the measurements")
    options.add_argument("--read", metavar="FILE.json,...", help="measure nothing: tables and figures of such files")
    return options
