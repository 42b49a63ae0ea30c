"""`python -m benchmarks matching`: maximum-cardinality bipartite matching, against SciPy and igraph.

  python -m benchmarks matching                                   the families, the default method, one thread
  python -m benchmarks matching "rmat 2^18" --threads 1,2         some of them; the gain of threads
  python -m benchmarks matching --method auto,push_relabel+cheap,hopcroft_karp --permuted --timeout 60
  python -m benchmarks matching --device cuda --cache /tmp/graphs            on a GPU, all graphs
  python -m benchmarks matching --device cuda "road 1000^2" --method all     every variant of the papers
  python -m benchmarks matching --device cuda --paper                        Table I of the ICPP paper, reproduced

ms         a CPU: matching.maximum from a SciPy matrix to a matching, including validation, transposition and initial
           matching; a GPU: from a graph there, with the lists of both sides, to a matching there
solve ms   a CPU: the same without validating and transposing the input
init, search   the two parts of ms on a GPU
call, whole    a GPU: matching.maximum from arrays there to arrays there, and from the host to the host
SciPy, igraph  from the form that suits each, prepared before the clock starts
CPU        matching.maximum's default, one thread, from a graph on the host
ECL-MM     recorded once on an H200, not measured here: other graphs of the same families and sizes

Medians of --runs, interleaved; a program that takes more than ONCE_ABOVE seconds is timed once.  SciPy needs
exponential time on permuted meshes, so it runs there only with --timeout, which runs all programs in a separate
process and stops those over the limit (on a GPU 30 s; 0: never).  A time appears only if the matching is certified
(König cover) and all programs agree on its size.
"""

from benchmarks import baselines, command, harness
from benchmarks import matching_instances as instances
from benchmarks.matching_programs import VARIANTS, CpuBench, GpuBench, Program, program_of
from benchmarks.table import means, milliseconds, number, ratio, records

ONCE_ABOVE = 4.0  # seconds
CALLS, CPU_RUNS = 5, 3  # whole calls, and runs of the CPU, on a GPU
WITH_PAPER = ("auto", "g_pr_shr-adaptive-0.7", "apfb-gpubfs_wr-ct")


def main(argv):
    options = parser().parse_args(argv)
    cuda = options.device == "cuda"
    names = names_of(options)
    command.known_instances(names, instances.known())
    programs = programs_of(options)
    report = command.report_on(options.device, "matching", "matching", ["numba", "numpy", "scipy", "python-igraph"])
    sources = instances.prepared(names, options.cache) if cuda else {name: instances.known()[name] for name in names}
    measured, rows, ratios = [], [], {}
    for name, source in sources.items():
        some, others = list(programs), [harness.CPU]
        if not cuda:
            others = [one for one in baselines.installed("matching") if options.timeout or suits(one, name)]
            some += map(Program, others)
        limit = 30.0 if cuda and options.timeout is None else options.timeout or None
        worker = harness.Worker(source if cuda else source(), limit, GpuBench if cuda else CpuBench)
        counts = (CALLS, CPU_RUNS) if cuda else (0, 0)
        measured.append(harness.measure(name, worker, some, options.runs, ONCE_ABOVE, *counts))
        if not cuda:
            measured[-1].raise_failures()
        rows += command.shown(rows_of(measured[-1], programs, others, ratios))
    parts = [records(rows), means(ratios)] + [as_in_paper(measured)] * options.paper
    text = "\n" + "\n\n".join(part for part in parts if part)
    command.finish(report, text, options.save and options.save.format(device=options.device))
    return int(any(m.failures for m in measured))


def suits(baseline, graph) -> bool:
    """Whether a baseline finds the matching in minutes."""
    return baseline != "SciPy" or not instances.hopeless_for_scipy(graph)


def names_of(options) -> list[str]:
    if options.device == "cuda":
        names = options.instances or (instances.PRINTED if options.paper else instances.ON_GPU)
    else:
        names = options.instances or (instances.QUICK if options.quick else instances.PLAIN)
    return [one for name in names for one in (name, name + instances.PERMUTED)] if options.permuted else list(names)


def programs_of(options) -> list[Program]:
    if options.device == "cuda":
        default = WITH_PAPER if options.paper else ("auto",)
        names = VARIANTS if options.method == ["all"] else options.method or default
        return [program_of(name) for name in names]
    some = [
        (name, t, program_of(name, "cpu", threads=t)) for name in options.method or ["auto"] for t in options.threads
    ]
    return [one._replace(name=name if t == options.threads[0] else f"{name}, {t} threads") for name, t, one in some]


def rows_of(m, programs, others, ratios):
    """A row for each program; adds the ratios."""
    for who in (program.name for program in programs):
        row = {"graph": m.name, "rows": str(m.shape[0]), "entries": str(m.entries), "size": str(m.size), "asked": who}
        row["certified"] = m.state.get(who, "not run")
        taken, ran = m.seconds.get(who), m.ran.get(who)
        if ran:
            stats = ran.stats
            stages = stats.get("stages", [ran.init_name])
            row |= {"method": ran.method + " → CPU" * ("cpu" in stages), "init": stages[0], "ms": milliseconds(taken)}
            row |= {f"{part} ms": milliseconds(seconds) for part, seconds in ran.parts.items()}
            row |= {"least ms": milliseconds(m.least[who]), "runs": str(m.runs[who])}
            row |= {key: str(stats.get(key, "-")) for key in ("phases", "levels")}
        theirs = {other: m.seconds.get(other) for other in others}
        if harness.CPU in others and m.name in instances.ECL_MM:
            theirs["ECL-MM"] = instances.ECL_MM[m.name] / 1e3
        for other, seconds in theirs.items():
            quotient = ratio(seconds, taken if ran else None)
            ratios.setdefault(f"{other} / {who}", []).append(quotient)
            row |= {f"{other} ms": milliseconds(seconds), f"{other} / ms": number(quotient)}
        yield row


def as_in_paper(measured):
    """Table I: seconds without the initial matching, ours here and theirs as printed."""
    rows = []
    for m in measured:
        printed = instances.PRINTED.get(m.name)
        if printed is None:
            continue
        pairs = {"G-PR": (WITH_PAPER[1], printed.g_pr), "APFB": (WITH_PAPER[2], printed.g_hkdw)}
        ran = [m.ran[who] for who, _ in pairs.values() if who in m.ran]
        initial = m.size - ran[0].stats["missing"] if ran else "-"
        row = {
            "graph": m.name,
            "rows": str(m.shape[0]),
            "entries": str(m.entries),
            "IM": str(initial),
            "MM": str(m.size),
        }
        for method, (who, theirs) in pairs.items():
            here = m.ran[who].search if who in m.ran else None
            row |= {f"{method} here s": number(here, 4), f"{method} printed s": number(theirs)}
            row[f"{method} printed / here"] = number(ratio(theirs, here))
        row |= {f"{who} here s": number(m.seconds.get(who), 4) for who in ("auto", harness.CPU)}
        rows.append(row | {"P-DBFS printed s": number(printed.p_dbfs), "PR printed s": number(printed.pr)})
    return (
        "Seconds; of G-PR (adaptive, 0.7) and APFB (GPUBFS-WR, CT) after the cheap matching, as printed; the default "
        "and the CPU from nothing.\n\n" + records(rows)
    )


def parser():
    options = command.parser("matching", __doc__, "matching-{device}", devices=True)
    options.add_argument("instances", nargs="*", metavar="GRAPH", help="graphs by name (default: the families)")
    options.add_argument("--permuted", action="store_true", help="also with rows and columns permuted")
    options.add_argument(
        "--method", type=lambda text: text.split(","), help="METHOD or METHOD+INIT, or several separated by commas; all"
    )
    options.add_argument("--threads", type=command.threads_of, default=[1], metavar="N,...", help="on a CPU")
    options.add_argument("--quick", action="store_true", help="small graphs, on a CPU")
    options.add_argument("--paper", action="store_true", help="the papers' graphs, on a GPU; made in minutes")
    options.add_argument("--timeout", type=float, metavar="SECONDS", help="stop programs that take longer")
    options.add_argument("--cache", metavar="FOLDER", help="on a GPU: keep graphs here (default: make them again)")
    options.add_argument("--runs", type=int, default=5, help="(default: %(default)s)")
    return options
