"""Tables of what harness.py measured of matchings, one function each.

On a CPU
detail, means        each graph and method against SciPy and igraph; geometric means over graphs

On a GPU
gpu_detail, gpu_means    each graph and program against the CPU's default and ECL-MM's recorded times
as_in_paper              Table I of the ICPP paper
"""

from benchmarks import matching_instances as instances
from benchmarks.harness import CPU, STOPPED
from benchmarks.matching_programs import BASELINES
from benchmarks.table import geometric_mean, markdown, number

WITH_PAPER = ("auto", "g_pr_shr-adaptive-0.7", "apfb-gpubfs_wr-ct")


def milliseconds(seconds) -> str:
    if seconds is None:
        return "-"
    if seconds == STOPPED:
        return "stopped"
    return f"{1e3 * seconds:.1f}" if seconds >= 1e-3 else f"{1e3 * seconds:.3f}"


def ratio(above, below) -> float | None:
    """Of two times, if both were measured."""
    return above / below if above and below and STOPPED not in (above, below) else None


def detail(measured, methods, threads):
    """Each graph and method: size, times with each number of threads, and times of the baselines."""
    columns = ["graph", "rows", "entries", "size", "asked", "method", "init", "certified", "ours ms", "solve ms"]
    columns += [text for t in threads[1:] for text in (f"{t} threads ms", "gain")]
    columns += [f"{baseline} ms" for baseline in BASELINES] + [f"{baseline} / ours" for baseline in BASELINES]
    rows = []
    for m in measured:
        for method in methods:
            ours, ran = m.seconds[method], m.ran.get(method)
            row = [m.name, str(m.shape[0]), str(m.entries), str(m.size) if ran else "-", method]
            if ran:
                solve = ran.stats["seconds"]["init"] + ran.stats["seconds"]["solve"]
                row += [ran.method, ran.init_name, "✓", milliseconds(ours), milliseconds(solve)]
            else:
                row += ["-", "-", "-", milliseconds(ours), "-"]
            for t in threads[1:]:
                shared = m.seconds.get(f"{method}, {t} threads")
                row += [milliseconds(shared), number(ratio(ours, shared))]
            baselines = [m.seconds.get(baseline) for baseline in BASELINES]
            row += [milliseconds(s) for s in baselines] + [number(ratio(s, ours)) for s in baselines]
            rows.append(row)
    return markdown(columns, rows)


def means(measured, methods):
    """Geometric mean, over the graphs where both ran, of a baseline's time over ours."""
    rows = []
    for method in methods:
        for baseline in BASELINES:
            found = [ratio(m.seconds.get(baseline), m.seconds[method]) for m in measured]
            found = [r for r in found if r]
            if found:
                mean, least = geometric_mean(found), min(found)
                rows.append([f"{baseline} / {method}", str(len(found)), f"{mean:.2f}", f"{least:.2f}"])
    return markdown(["baseline / ours", "graphs", "geometric mean", "least"], rows) if rows else ""


def hundredths(seconds) -> str:
    """Milliseconds with two digits, of programs on a GPU."""
    return "-" if seconds is None else "stopped" if seconds == STOPPED else f"{1e3 * seconds:.2f}"


def gpu_detail(measured, names):
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
                hundredths(ran.init),
                hundredths(ran.search),
            ]
            row += [hundredths(s) for s in (card, m.least[who], ran.call, ran.whole, cpu)]
            row += [number(ratio(cpu, card)), number(ratio(cpu, ran.whole)), f"{ecl:g}" if ecl else "-"]
            row += [number(ratio(ecl / 1e3 if ecl else None, card))]
            rows.append([*row, *(str(ran.stats.get(key, "-")) for key in ("phases", "levels")), str(m.runs[who])])
    return markdown(columns, rows)


def gpu_means(measured, names):
    """Geometric means of the CPU's and ECL-MM's recorded times over each program's."""
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
            row += [seconds_of(here), number(theirs), number(ratio(theirs, here))]
        row += [seconds_of(m.seconds.get(who)) for who in ("auto", CPU)]
        rows.append([*row, number(printed.p_dbfs), number(printed.pr)])
    return (
        "Seconds; of G-PR (adaptive, 0.7) and APFB (GPUBFS-WR, CT) after the cheap matching, as printed; the default "
        "and the CPU from nothing.\n\n" + markdown(columns, rows)
    )


def seconds_of(value) -> str:
    return "-" if value is None else "stopped" if value == STOPPED else f"{value:.4f}"
