"""`python -m benchmarks matching --device cuda`: maximum bipartite matching on a GPU, against the CPU's default.

  python -m benchmarks matching --device cuda --cache /tmp/graphs            the families, the default method
  python -m benchmarks matching --device cuda "road 1000^2" --method all     every variant of the papers
  python -m benchmarks matching --device cuda --permuted --method auto,apfb-gpubfs_wr-ct+cheap
  python -m benchmarks matching --device cuda --paper                        Table I of the ICPP paper, made again
  python -m benchmarks matching --device cuda --orderings                    its Fig. 1, and Table 1 of Euro-Par's
  python -m benchmarks matching --device cuda --rule                         the size from which on a GPU pays
  python -m benchmarks matching --device cuda --prepare                      makes the graphs, all at once, and ends
  python -m benchmarks matching --device cuda --rows a.json                  keeps what was measured, too
  python -m benchmarks matching --device cuda --read a.json,b.json --profile docs/images/x.png      draws it; no GPU

init, search    on the GPU, from a graph that lies there with both sides to a matching there; on card: both
call            matching.maximum from arrays on the GPU to arrays there: checks and the other side included
transfers       matching.maximum from arrays on the host to arrays on the host
CPU             matching.maximum's default on this machine, one thread, from a graph on the host
ECL-MM          recorded once on an H200, not measured here: other graphs of the same families and sizes

Medians of --runs, interleaved; a run over --time-once-above seconds is timed once.  A time appears only if the
program's matching is certified (König cover, on the CPU), and if every run found as many pairs as the CPU.
"""

import argparse
from itertools import product

from apps.info import gpu_facts
from benchmarks import matching_cuda_auto, matching_rows
from benchmarks import matching_cuda_instances as instances
from benchmarks import matching_pictures as pictures
from benchmarks.matching_cuda_runs import CPU, G_PR, RELABELLINGS, VARIANTS, measure, program_of
from benchmarks.matching_runs import STOPPED
from benchmarks.table import geometric_mean, header, markdown, save

WITH_PAPER = ("auto", "g_pr_shr-adaptive-0.7", "apfb-gpubfs_wr-ct")


def main(argv):
    options = parser().parse_args(argv)
    try:
        programs = [program_of(text, options.init) for text in methods_of(options)]
        if options.read:
            report, measured = matching_rows.read(options.read.split(","))
            return finish(report, measured, told(measured, programs, options), options)
        names = names_of(options)
    except (OSError, ValueError) as error:
        print(f"benchmarks matching --device cuda: {error}")
        return 2
    if options.prepare:
        for name, path in instances.prepared(names, options.cache).items():
            print(f"{name}: {path}")
        return 0
    gpu = gpu_facts()
    if gpu is None:
        print("benchmarks matching --device cuda: numba finds no CUDA GPU here")
        return 2
    report = header("matching on a GPU", ["numba-cuda", "numba", "numpy", "scipy"])
    report += f"\n{gpu['name']}, {gpu['memory'] / 2**30:.0f} GiB, driver {gpu['driver']}.\n"
    print(report, flush=True)
    if options.rule:
        text = matching_cuda_auto.run(options.runs)
        print(f"\n{text}")
        if options.save:
            print("saved to", save(options.save, f"{report}\n{text}"))
        return 0
    measured = []
    for name, path in instances.prepared(names, options.cache).items():
        measured.append(measure(name, path, programs, options, say))
        print(report_of(measured[-1]), flush=True)
        # What is known by now: the next graph may take for ever.
        if options.rows:
            matching_rows.write(options.rows, report, measured)
        if options.save:
            save(options.save, f"{report}\n{text_of(measured, [p.name for p in programs], options)}")
    return finish(report, measured, [p.name for p in programs], options)


def finish(report, measured, names, options):
    """Tables and pictures of what was measured; the exit status."""
    text = text_of(measured, names, options)
    print(f"\n{text}")
    if options.profile:
        cpu = [CPU] * any(CPU in m.seconds for m in measured)
        figure, count = pictures.profiles(measured, names + cpu, CPU)
        if figure is None:
            print("no profile: there is no graph that every program was tried on")
        else:
            print(f"profile of {count} graphs saved to", pictures.save(figure, options.profile))
    if options.save:
        print("saved to", save(options.save, f"{report}\n{text}"))
    return int(any("WRONG" in state or "failed" in state for m in measured for state in m.state.values()))


def told(measured, programs, options):
    """Names of the programs asked for; of all there are in the files, if none were."""
    if options.method or options.paper or options.orderings:
        return [p.name for p in programs]
    return list(dict.fromkeys(who for m in measured for who in m.state))


def text_of(measured, names, options):
    return "\n\n".join(tables(measured, names, options))


def say(*words):
    print("  ", *words, flush=True)


def methods_of(options):
    if options.orderings:
        return [name for name in VARIANTS if name.startswith(("g_pr", "ap"))]
    if options.method is None:
        return WITH_PAPER if options.paper else ("auto",)
    return tuple(VARIANTS) if options.method == "all" else options.method.split(",")


def names_of(options):
    known = instances.known()
    names = options.instances
    if not names:
        names = instances.PRINTED if options.paper else instances.MEDIUM if options.orderings else instances.FAMILIES
    if options.permuted:
        names = [one for name in names for one in (name, f"{name} permuted")]
    for name in names:
        if name not in known and not name.lower().endswith((".mtx", ".mtx.gz", ".npz")):
            raise ValueError(f"no graph {name!r}; there are {', '.join(known)}, and .mtx, .mtx.gz and .npz files")
    return list(names)


def report_of(m):
    cpu = f", CPU {milliseconds(m.seconds[CPU])} ms" if CPU in m.seconds else ""
    return f"{m.name}: {m.shape[0]} x {m.shape[1]}, {m.entries} entries, maximum {m.size}{cpu}"


def milliseconds(seconds) -> str:
    return "-" if seconds is None else "stopped" if seconds == STOPPED else f"{1e3 * seconds:.2f}"


def times(above, below) -> str:
    return f"{above / below:.2f}" if above and below and STOPPED not in (above, below) else "-"


def tables(measured, names, options):
    yield detail(measured, names)
    if len(measured) > 1:
        yield means(measured, names)
    if options.paper:
        yield as_in_paper(measured)
    if options.orderings:
        yield relabellings(measured)
        yield searches(measured)


def detail(measured, names):
    """Each graph and program."""
    columns = ["graph", "rows", "entries", "size", "asked", "method", "init", "certified", "init ms", "search ms"]
    columns += ["on card ms", "least ms", "call ms", "transfers ms", "CPU ms", "CPU / on card", "CPU / transfers"]
    columns += ["ECL-MM ms, recorded", "ECL-MM / on card", "phases", "levels", "runs"]
    rows = []
    for m in measured:
        cpu, ecl = m.seconds.get(CPU), instances.ECL_MM.get(m.name)
        for who in names:
            row = [m.name, str(m.shape[0]), str(m.entries), str(m.size), who]
            ran = m.ran.get(who)
            if ran is None:
                rows.append([*row, "-", "-", m.state.get(who, "not run"), *["-"] * 14])
                continue
            card = m.seconds[who]
            stages = ran.stats.get("stages", [ran.init_name])
            row += [
                ran.method + " → CPU" * ("cpu" in stages),
                stages[0],
                "✓",
                milliseconds(ran.init),
                milliseconds(ran.search),
            ]
            row += [milliseconds(s) for s in (card, m.least[who], ran.call, ran.whole, cpu)]
            row += [times(cpu, card), times(cpu, ran.whole), f"{ecl:g}" if ecl else "-"]
            row += [times(ecl / 1e3 if ecl else None, card)]
            rows.append([*row, *(str(ran.stats.get(key, "-")) for key in ("phases", "levels")), str(m.runs[who])])
    return markdown(columns, rows)


def means(measured, names):
    """Geometric means of ratios to the CPU and to what is recorded of ECL-MM; where all ran, of milliseconds."""
    rows = []
    for who in names:
        there = [m for m in measured if who in m.ran]
        cpu = [m.seconds[CPU] / m.seconds[who] for m in there if CPU in m.seconds]
        ecl = [instances.ECL_MM[m.name] / 1e3 / m.seconds[who] for m in there if m.name in instances.ECL_MM]
        cells = [f"{geometric_mean(r):.2f} (least {min(r):.2f}; {len(r)})" if r else "-" for r in (cpu, ecl)]
        rows.append([who, f"{len(there)} of {len(measured)}", *cells])
    return markdown(["method", "graphs", "CPU / on card: mean (least; graphs)", "ECL-MM / on card"], rows)


def as_in_paper(measured):
    """Table I: seconds without the initial matching, ours here and theirs as printed."""
    columns = ["graph", "rows", "entries", "IM", "MM"]
    for method in ("G-PR", "APFB"):
        columns += [f"{method} here s", f"{method} printed s", "printed / here"]
    columns += ["default here s", "CPU here s", "P-DBFS printed s", "PR printed s"]
    rows = []
    for m in measured:
        printed = instances.PRINTED.get(m.name)
        if printed is None:
            continue
        pairs = [(WITH_PAPER[1], printed.g_pr), (WITH_PAPER[2], printed.g_hkdw)]
        initial = next((m.size - m.ran[who].stats["missing"] for who, _ in pairs if who in m.ran), "-")
        row = [m.name, str(m.shape[0]), str(m.entries), str(initial), str(m.size)]
        for who, theirs in pairs:
            here = m.ran[who].search if who in m.ran else None
            row += [seconds_of(here), as_printed(theirs), times(theirs, here)]
        row += [seconds_of(m.seconds.get(who)) for who in ("auto", CPU)]
        rows.append([*row, as_printed(printed.p_dbfs), as_printed(printed.pr)])
    return (
        "Seconds; of G-PR (adaptive, 0.7) and APFB (GPUBFS-WR, CT) after the cheap matching, as printed; the default "
        "and the CPU from nothing.\n\n" + markdown(columns, rows)
    )


def seconds_of(value) -> str:
    return "-" if value is None else "stopped" if value == STOPPED else f"{value:.4f}"


def as_printed(value) -> str:
    return "-" if value is None else f"{value:.2f}"


def common(measured, names):
    """The graphs on which all of these ran, and geometric means of milliseconds of their searches there."""
    there = [m for m in measured if all(who in m.ran for who in names)]
    if not there:
        return 0, {}
    return len(there), {who: 1e3 * geometric_mean([m.ran[who].search for m in there]) for who in names}


def relabellings(measured):
    """Fig. 1 of the ICPP paper: G-PR with and without active lists and shrinking, by when labels are renewed."""
    names = {(method, how): f"{method}-{how[0]}-{how[1]}" for method, how in product(G_PR, RELABELLINGS)}
    count, mean = common(measured, names.values())
    if not count:
        return "No graph on which all of G-PR ran."
    rows = []
    for how in RELABELLINGS:
        first, active, shrunk = (mean[names[method, how]] for method in G_PR)
        gains = f"{100 * (1 - active / first):.0f} %", f"{100 * (1 - shrunk / active):.0f} %"
        rows.append([f"({how[0]}, {how[1]})", *(f"{ms:.2f}" for ms in (first, active, shrunk)), *gains])
    columns = ["labels renewed", "G-PR-First ms", "G-PR-NoShr ms", "G-PR-Shr ms", "lists gain", "shrinking gains"]
    return (
        f"G-PR after the cheap matching, geometric means of {count} graphs; the paper's gains: lists 14 to 84 %, "
        "shrinking 2 to 8 %.\n\n" + markdown(columns, rows)
    )


def searches(measured):
    """Table 1 of the Euro-Par paper: the eight variants."""
    count, mean = common(measured, instances.PRINTED_MEANS)
    if not count:
        return "No graph on which all of APFB and APsB ran."
    best, theirs = min(mean.values()), [min(column) for column in zip(*instances.PRINTED_MEANS.values(), strict=True)]
    rows = []
    for who, printed in instances.PRINTED_MEANS.items():
        ours = [f"{mean[who]:.2f}", f"{mean[who] / best:.2f}"]
        rows.append([who, *ours, *(f"{s / least:.2f}" for s, least in zip(printed, theirs, strict=True))])
    columns = ["variant", "here ms", "times the best", "printed, original graphs", "printed, permuted"]
    return f"APFB and APsB after the cheap matching, geometric means of {count} graphs.\n\n" + markdown(columns, rows)


def parser():
    options = argparse.ArgumentParser(
        prog="python -m benchmarks matching --device cuda",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("instances", nargs="*", help="graphs by name, or .mtx, .mtx.gz, .npz files; the families")
    options.add_argument("--method", metavar="NAME,...", help="variants, each with +INIT if wanted, or all; auto")
    options.add_argument("--init", default="auto", help="of variants that name none")
    options.add_argument("--permuted", action="store_true", help="also with rows and columns permuted")
    kind = options.add_mutually_exclusive_group()
    kind.add_argument("--paper", action="store_true", help="the papers' graphs that can be generated; minutes to make")
    kind.add_argument("--orderings", action="store_true", help="when labels are renewed, and how searches are made")
    kind.add_argument("--rule", action="store_true", help="whole calls, by size: where should 'auto' take a GPU?")
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--calls", type=int, default=5, help="of the runs, those that time whole calls, too; 0: none")
    options.add_argument("--cpu", type=int, default=3, metavar="RUNS", help="of the CPU's default; 0: none")
    options.add_argument(
        "--time-once-above", type=float, default=2.0, metavar="SECONDS", help="timed once if it takes longer"
    )
    options.add_argument(
        "--timeout", type=seconds_or_none, default=30.0, metavar="SECONDS", help="stop what takes longer"
    )
    options.add_argument("--cache", metavar="FOLDER", help="keep graphs here; else they are made anew")
    options.add_argument("--prepare", action="store_true", help="make the graphs, side by side, and end")
    options.add_argument("--rows", metavar="FILE.json", help="keep what is measured")
    options.add_argument("--read", metavar="FILE.json,...", help="measure nothing: tables and pictures of such files")
    options.add_argument(
        "--profile", metavar="NAME", help="write benchmarks/results/NAME.png, or NAME if it ends in .png"
    )
    options.add_argument(
        "--save", nargs="?", const="matching-cuda", metavar="NAME", help="to benchmarks/results/NAME.md"
    )
    return options


def seconds_or_none(text):
    """0: no limit, and no process of its own."""
    return float(text) or None
