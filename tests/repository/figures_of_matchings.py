"""The values of the rows of docs/benchmarks/papers.md on matchings; see figures_of_flows.py."""

import numpy as np

from tests.repository.figures_of_flows import Column, mean, span

ALL = ["delaunay", "rgg", "grid", "uniform 5", "RMAT", "uniform 3", "road", "web", "kron"]
EIGHT = [name for name in ALL if name != "grid"]  # grid: nothing to find


def azad() -> dict:
    one = Column("papers-azad", "Fig. 1")
    edges, phases, length = (
        {who: one.over(what, EIGHT, who) for who in ("SS-DFS", "SS-BFS", "PF", "MS-BFS", "HK")}
        for what in ("edges traversed", "phases", "mean path length")
    )
    alpha = Column("papers-azad", "alpha")
    rows = [row for row in alpha.rows if row[0].startswith("mean")][0]
    threads = Column("papers-azad-threads", "Fig. 5")
    best = {who: threads.over(f"{who}, 16", EIGHT) for who in ("PF", "MS-BFS-Graft")}
    vary = Column("papers-azad-threads", "Variation")
    rate = Column("papers-azad-threads", "Fig. 3")
    serial = Column("papers-azad", "Fig. 3")
    steps = Column("papers-azad", "Fig. 6")
    seven = Column("papers-azad", "Fig. 7")
    two, im = Column("papers-azad", "Table II"), Column("papers-deveci-icpp", "Table I")
    plain, up, graft_up = ({n: seven.of(f"{who}: edges", n) for n in EIGHT} for who in ("MS-BFS", "direction", "both"))
    eight = Column("papers-azad", "Fig. 8")
    fewer = {
        n: eight.of("vertices in frontiers", n, "MS-BFS") / eight.of("vertices in frontiers", n, "MS-BFS-Graft")
        for n in EIGHT
    }
    first = Column("papers-azad", "Grafting in")
    rule = {n: first.over("by the rule: edges", [n])[0] for n in EIGHT}
    since = {k: {n: first.of(f"by the rule, from phase {k} on", n) / rule[n] for n in EIGHT} for k in (2, 3)}
    saved = {
        k: [100 * (1 - since[k][n]) for n in ("delaunay", "uniform 5", "RMAT", "uniform 3", "road")] for k in (2, 3)
    }
    worse = [100 * (since[2][n] - 1) for n in ("web", "kron")]
    classes = {
        "scientific": ["delaunay", "rgg", "uniform 5"],
        "scale-free": ["RMAT", "uniform 3"],
        "networks": ["road", "web", "kron"],
    }
    sixteen = rate.over("PF / Graft, 16", EIGHT)
    graft = np.array([[threads.of(f"MS-BFS-Graft, {n}", name) for name in EIGHT] for n in (2, 4, 8, 16)])
    at = {name: i for i, name in enumerate(EIGHT)}
    over = {
        of: {
            who: float(serial.of_text(column, f"mean, {of}").removeprefix(who))
            for who, column in zip(("PR", "PF"), serial.names[1:3], strict=True)
        }
        for of in classes
    }
    over_large = {
        of: {who: mean(rate.over(f"{who} / Graft, 1", names)) for who in ("PR", "PF")}
        for of, names in {**classes, "all": EIGHT}.items()
    }
    largest = {
        (n, w): eight.shares("largest at first level", n, w)
        for n in ("RMAT", "uniform 5", "road", "uniform 3")
        for w in ("MS-BFS-Graft", "MS-BFS")
    }
    larger = Column("matching-steps")
    groups = [row[0] for row in larger.rows if row[0] != "geometric mean"]
    turned = larger.over("direction x", groups)
    again = larger.over("both x", groups) / turned
    return {
        "serial MS-BFS-Graft": [*(x for of in (*over.values(), *over_large.values()) for x in of.values())],
        "no gain on": [*over["scientific"].values(), *over_large["scientific"].values()],
        "without grafting, frontiers": [5, 3, *(x for of in largest.values() for x in of)],
        "Karp–Sipser finds": [
            *span(100 * two.over("Karp–Sipser %", ALL) / two.over("maximum %", ALL)),
            *span(two.over("maximum %", ALL[:6])),
            *span(two.over("maximum %", ALL[6:])),
        ],
        "Karp–Sipser is one": [*span(im.over("Karp–Sipser, %", ALL)), *span(im.over("cheap, % of maximum", ALL))],
        "on most graphs, grafting": [2, 3, *span(saved[2]), *span(saved[3]), *worse],
        "graphs with high matching": [
            *(steps.of("BFS %", name) for name in ("rgg", "delaunay", "web", "road", "kron")),
            *span(steps.over("grafting and statistics %", ALL[6:])),
            5,
            *(steps.of("BFS %", name) for name in ("uniform 5", "RMAT")),
        ],
        "direction optimisation gains": [
            5,
            plain["RMAT"] / up["RMAT"],
            plain["uniform 5"] / up["uniform 5"],
            up["web"] / plain["web"],
            up["kron"] / plain["kron"],
            larger.of("direction x", "geometric mean"),
            *span(turned),
        ],
        "grafting gains another": [
            up["web"] / graft_up["web"],
            up["kron"] / graft_up["kron"],
            *span([up[n] / graft_up[n] for n in EIGHT[:6]]),
            mean(again),
            *span(again),
        ],
        "graphs with low matching": [*(of[n] / graft_up[n] for of in (up, plain) for n in ("web", "kron"))],
        "grafting reduces": [
            5,
            3,
            *(
                eight.of("levels per phase", n, w)
                for n in ("RMAT", "uniform 5", "delaunay", "road", "uniform 3", "web", "kron")
                for w in ("MS-BFS", "MS-BFS-Graft")
            ),
        ],
        "grafting decreases": [
            *(fewer[n] for n in ("web", "kron", "road")),
            5,
            3,
            *span([fewer[n] for n in ("uniform 5", "uniform 3", "RMAT")]),
            1 / fewer["delaunay"],
        ],
        "PF and MS-BFS traverse": span(edges["HK"] / edges["PF"], edges["HK"] / edges["MS-BFS"]),
        "with a perfect matching, multi": [
            *(edges[who][0] for who in ("PF", "MS-BFS", "SS-DFS", "SS-BFS")),
            edges["SS-DFS"][1] / edges["PF"][1],
            *(edges["HK"] / edges["SS-DFS"])[:2],
            100 * (1 - edges["MS-BFS"][0] / edges["SS-DFS"][0]),
        ],
        "with a low matching": [
            3,
            *(two.of("maximum %", n) for n in ("uniform 3", "road")),
            edges["SS-BFS"][4],
            edges["MS-BFS"][4],
        ],
        "multi-source algorithms need": [
            *span(*(phases[w] for w in ("PF", "MS-BFS", "HK"))),
            *span(phases["SS-BFS"], phases["SS-DFS"]),
        ],
        "on scale-free and web": [
            3,
            *(phases[w][at[n]] for n in ("web", "kron", "uniform 3", "RMAT") for w in ("PF", "MS-BFS")),
        ],
        "HK needs more": [phases["HK"][at["RMAT"]], phases["MS-BFS"][at["RMAT"]]],
        "HK finds the shortest": [length["HK"][at["web"]], length["MS-BFS"][at["web"]]],
        "searches in breadth": [
            1.7,
            *span(length["SS-DFS"] / length["SS-BFS"])[1:],
            *span(length["PF"] / length["MS-BFS"]),
        ],
        "multi-source searches find": [
            *span(length["SS-DFS"] / length["PF"]),
            *span(length["SS-BFS"] / length["MS-BFS"]),
        ],
        "alpha near 5": [
            1,
            2,
            3,
            5,
            7,
            20,
            *(float(rows[alpha.names.index(f"alpha = {a}")]) for a in (1, 2, 3, 5, 7, 20)),
        ],
        "with 40 threads 7.5": [16, *span(np.delete(sixteen, at["rgg"])), sixteen[at["rgg"]]],
        "by class": [500, 16, *(mean(rate.over("PF / Graft, 16", of)) for of in classes.values())],
        "PF may be": [16, 3, 5, *(threads.of("PF, 16", name) for name in ("RMAT", "uniform 3", "uniform 5"))],
        "its search rate": [
            *span(serial.over("rate Graft / PF", EIGHT)),
            16,
            *span(rate.over("rate Graft / PF", EIGHT)),
            2,
            40,
        ],
        "speed-up of 15": [
            16,
            *span(graft[3]),
            8,
            *span([mean(graft[2][[at[n] for n in of]]) for of in classes.values()]),
            *span([mean(graft[3][[at[n] for n in of]]) for of in classes.values()]),
            16,
            *span(best["PF"]),
        ],
        "at least 40 %": [*span(np.delete(steps.over("BFS %", EIGHT), at["RMAT"])), steps.of("BFS %", "RMAT")],
        "runs vary by": [
            16,
            *span(vary.over("MS-BFS-Graft", EIGHT)),
            vary.of("MS-BFS-Graft", "mean"),
            *span(vary.over("PF", EIGHT)),
            vary.of("PF", "mean"),
            *span(Column("papers-azad", "Variation").over("MS-BFS-Graft: ψ %", EIGHT)),
            np.mean(Column("papers-azad", "Variation").over("MS-BFS-Graft: ψ %", ALL)),
            *span(Column("papers-azad", "Variation").over("PF: ψ %", EIGHT)),
            np.mean(Column("papers-azad", "Variation").over("PF: ψ %", ALL)),
        ],
    }


def fagginger_auer() -> dict:
    graphs = ["grid (ecology1)", "delaunay", "rgg", "Graph500"]
    two = Column("papers-fagginger-auer", "Fig. 2")
    both = [(g, s) for g in graphs for s in ("first", "random")]
    quality = Column("papers-fagginger-auer", "Fig. 5, quality")
    pairs, pairs_random, weighted, heavy, skewed, light = (
        quality.over("mean ± deviation", graphs, ratio)
        for ratio in (
            "pairs, parallel / random",
            "pairs, random select, parallel / random",
            "weight, parallel / weighted",
            "weight, parallel / sorted",
            "weight, parallel / weighted, skewed",
            "weight, parallel / sorted, skewed",
        )
    )
    deviation = [float(r[3].split("±")[1]) for r in quality.rows if r[1] == "pairs, random select, parallel / random"]
    threads = Column("papers-fagginger-auer-threads", "Fig. 4")
    up = {n: threads.over(f"speed-up, {n}", graphs) for n in (2, 4, 8, 16)}
    many = Column("papers-fagginger-auer-threads", "Fig. 5")
    cpu = Column("papers-fagginger-auer", "Fig. 5, speed")
    three = ("random / parallel", "weighted / parallel, heaviest", "sorted / parallel, heaviest")
    again = cpu.over("random again / random", graphs)
    levels = Column("papers-fagginger-auer", "Coarsening")
    methods = ("random", "parallel", "locally_dominant")
    meshes = levels.over("reduction", [(g, m) for g in graphs[:3] for m in methods])
    equation = Column("papers-fagginger-auer", "Equation")
    three_of = Column("papers-fagginger-auer", "Fig. 3")
    ps = [row[0] for row in three_of.rows]
    names = (
        "first: pairs",
        "random: pairs",
        "weight",
        "first: entries",
        "random: entries",
        "first: first round, %",
        "random: first round, %",
        "eq. 2, %",
    )
    third = [three_of.over(name, ps) for name in names]
    large, small = Column("greedy-cuda", ""), Column("greedy-small-cuda", "")
    big, little = (
        ["delaunay 2^22", "rgg 2^21", "kron 2^20", "grid 2400^2"],
        ["grid 1000^2", "delaunay 2^20", "rgg 2^18"],
    )
    plain, heaviest = "parallel, GPU", "parallel, heaviest, GPU"

    def column(table, name, groups, method):
        index = table.names.index(name)
        return np.array([float(row[index]) for g in groups for row in table.rows if row[0] == g and row[3] == method])

    speed = {of: column(large, "random, CPU / solve", big, of) for of in (plain, heaviest)}
    less = {of: column(small, "random, CPU / solve", little, of) for of in (plain, heaviest)}
    by_sort = column(large, "solve ms", big, "sorted, CPU") / column(large, "solve ms", big, heaviest)
    solve, transfer = (column(large, name, big, plain) for name in ("solve ms", "transfers ms"))
    moved = 100 * transfer / (solve + transfer)
    rate = column(large, "edges", big, plain) / solve
    per_ms = rate[[3, 0, 1]] / (column(small, "edges", little, plain) / column(small, "solve ms", little, plain))
    order = Column("papers-fagginger-auer", "Order")
    pairs_of, last = (
        [order.of(f"{o}: {what}", "Graph500", "random") for o in ("as generated", "random order")]
        for what in ("pairs", "level 5")
    )
    changed = [[order.of(f"{o}: level 5", g, "parallel") for o in ("random order", "as generated")] for g in graphs]
    scanned, rounds_of = (
        {s: three_of.over(f"{s}: {what}", ps) for s in ("first", "random")} for what in ("entries", "rounds")
    )
    md5 = Column("papers-fagginger-auer", "MD5").rows
    means = [[float(x) for cell in row[1:] for x in cell.split("±")] for row in md5]
    random = {d: equation.of("random: first round, %", d) for d in ("3", "5", "10", "20", "40")}
    return {
        "p = 0.53406": [0.534, *(float(ps[of.argmax()]) for of in (third[5], third[6]))],
        "hence it gives": [
            *(float(ps[scanned[s].argmin()]) for s in scanned),
            *(float(ps[rounds_of[s].argmin()]) for s in rounds_of),
        ],
        "a quarter of MD5": [sum(abs(a - b) <= min(c, d) for a, c, b, d in means), len(means), 16],
        "graphs up to": [float(small.rows[0][small.names.index("edges")]) / 1e6],
        "size and weight": [
            100 * max(p3.max() / p3.min() - 1 for p3 in third[:2]),
            100 * (third[2].max() / third[2].min() - 1),
            *span([of.max() / of.min() for of in third[3:5]]),
        ],
        "the share of the first round": [np.abs(third[6] - third[7]).max(), (third[7] - third[5]).max()],
        "random matching on a GPU": span(speed[plain]),
        "weighted matching on a GPU": span(speed[heaviest]),
        "up to 37 times": span(by_sort),
        "speed-ups differ": [speed[plain][of] for of in (2, 0, 3, 1)],
        "speed-ups grow": [
            2,
            3,
            12,
            16,
            *(x for of in (plain, heaviest) for i, j in ((0, 3), (1, 0), (2, 1)) for x in (less[of][i], speed[of][j])),
            *per_ms,
        ],
        "transfers take": span(moved),
        "vertices should be permuted": [
            1,
            100 * (pairs_of[1] / pairs_of[0] - 1),
            100 * (1 - last[1] / last[0]),
            100 * max(abs(a / b - 1) for a, b in changed),
        ],
        "unmatched vertices": [
            *span(two.over("after 5, %", both) / two.over("in the end, %", both) * 100),
            *span(two.over("rounds", both)),
        ],
        "63.6 % of": [
            random["5"],
            5,
            *span([random[d] for d in ("10", "20", "40")]),
            10,
            40,
            random["3"],
            3,
            *span(equation.over("first: first round, %", random)),
        ],
        "algorithm 3 scales": [x for n, of in up.items() for x in (n, *span(of))],
        "pairs of random": [*span(pairs_random), *span(deviation), *span(pairs)],
        "weight 115 %": [*span(weighted), *span(skewed[:3]), skewed[3]],
        "weight 85 %": [*span(heavy), *span(light)],
        "TBB with": [
            16,
            *(x for c in three for x in span(many.over(c, graphs))),
            *(x for c in three for x in span(cpu.over(c, graphs))),
            100 * np.abs(again - 1).max(),
        ],
        "matchings coarsen": [
            *span(meshes),
            *span(levels.over("reduction", ["Graph500"] * 0 + [("Graph500", m) for m in methods])),
        ],
    }
