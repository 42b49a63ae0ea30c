"""The values of the rows of docs/benchmarks/papers.md on matchings; see figures_of_flows.py."""

import numpy as np

from tests.repository.figures_of_flows import Column, at_least, mean, span

ALL = ["delaunay", "rgg", "grid", "uniform 5", "RMAT", "uniform 3", "road", "web", "kron"]
EIGHT = [name for name in ALL if name != "grid"]  # grid: nothing to find
MEASURED = ["delaunay 2^20", "rgg 2^18", "rmat 2^18", "kron 2^18", "road 1000^2", "uniform 2", "uniform 3", "uniform 5"]


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
    direction, both = (
        seven.over(
            f"{who}: edges",
            EIGHT,
        )
        for who in ("direction", "both")
    )
    classes = {
        "scientific": ["delaunay", "rgg", "uniform 5"],
        "scale-free": ["RMAT", "uniform 3"],
        "networks": ["road", "web", "kron"],
    }
    sixteen = rate.over("PF / Graft, 16", EIGHT)
    graft = np.array([[threads.of(f"MS-BFS-Graft, {n}", name) for name in EIGHT] for n in (2, 4, 8, 16)])
    at = {name: i for i, name in enumerate(EIGHT)}
    del both, direction
    return {
        "PF and MS-BFS traverse": span(edges["HK"] / edges["PF"], edges["HK"] / edges["MS-BFS"]),
        "with a perfect matching, multi": [
            *(edges[who][0] for who in ("PF", "MS-BFS", "SS-DFS", "SS-BFS")),
            edges["SS-DFS"][1] / edges["PF"][1],
            *(edges["HK"] / edges["SS-DFS"])[:2],
        ],
        "with a low matching": [3, 92.85, 97.69, edges["SS-BFS"][4], edges["MS-BFS"][4]],
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
        "with 40 threads 7.5": [16, *span(np.delete(sixteen, at["web"])), sixteen[at["web"]]],
        "by class": [500, 16, *(mean(rate.over("PF / Graft, 16", of)) for of in classes.values())],
        "PF may be": [4, 16, threads.of("PF, 4", "RMAT"), best["PF"].max()],
        "its search rate": [
            *span(serial.over("rate Graft / PF", EIGHT)),
            16,
            *span(np.delete(rate.over("rate Graft / PF", EIGHT), at["kron"])),
            rate.of("rate Graft / PF", "kron"),
        ],
        "speed-up of 15": [
            graft.max(),
            8,
            16,
            *span([mean(graft[2][[at[n] for n in of]]) for of in classes.values()]),
            *span([mean(graft[3][[at[n] for n in of]]) for of in classes.values()]),
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


def icpp() -> dict:
    orders = Column("papers-deveci-icpp", "Order")
    rounds = Column("papers-deveci-icpp", "Fig. 1")
    few = rounds.over("kernels with few columns", EIGHT, "(adaptive, 0.7)") / rounds.over(
        "push kernels", EIGHT, "(adaptive, 0.7)"
    )
    launches = [
        rounds.of("launches", "geometric mean", f"({name})")
        for name in (
            "adaptive, 0.7",
            "adaptive, 0.3",
            "fix, 10",
            "fix, 50",
            "adaptive, 1",
            "adaptive, 1.5",
            "adaptive, 2",
        )
    ]
    starts = Column("papers-deveci-icpp", "A global")
    without = {
        name: starts.over(f"({name}), without", EIGHT) / starts.over(f"({name}), with", EIGHT)
        for name in ("fix, 10", "fix, 50")
    }
    gpu = Column("papers-deveci-icpp-cuda", "ICPP 2013, Fig. 1")
    times = [
        gpu.of(column, f"g_pr_shr-{s}")
        for s in ("adaptive-0.7", "adaptive-0.3", "adaptive-1.5", "fix-50", "fix-10")
        for column in ("ms", "permuted: ms")
    ]
    speed = Column("papers-deveci-icpp-cuda", "ICPP 2013, Fig. 2")
    search = Column("papers-deveci-icpp-cuda", "Searches")
    ms = {
        who: (search.over(who, MEASURED), search.over(who, [f"{name} permuted" for name in MEASURED]))
        for who in ("push_relabel", "p_dbfs", "apfb-gpubfs_wr-ct", "g_pr_shr-adaptive-0.7")
    }
    best = [np.min([of[i] for of in ms.values()], axis=0) for i in (0, 1)]
    fast = Column("papers-deveci-europar-cuda", "Euro-Par 2013, table 1")
    conflicts = np.array(
        [
            [rounds.of("conflicts", g, s) / rounds.of("pushes", g, s) for g in EIGHT]
            for s in ("(adaptive, 0.3)", "(adaptive, 0.7)", "(fix, 10)", "(fix, 50)")
        ]
    )
    del conflicts
    im = Column("papers-deveci-icpp", "Table I")
    return {
        "the cheap matching finds": [im.of("cheap, % of maximum", name) for name in ("delaunay", "kron", "road")],
        "FIFO order": [
            3.75,
            7.6,
            1.09,
            *(float([r for r in orders.rows if r[0] == "mean / fifo"][0][i]) for i in (2, 3, 4)),
        ],
        "a global relabeling at": [
            10,
            50,
            without["fix, 10"][1],
            without["fix, 10"][0],
            without["fix, 10"][3],
            *span(np.delete(without["fix, 10"], [0, 1, 3, 7])),
            without["fix, 50"][1],
            *span(np.delete(without["fix, 50"], 1)),
        ],
        "adaptive strategies beat": [0.7, 0.3, 10, 50, 1, 1.5, 2, *launches, *times],
        "with probability 21": [
            7,
            8,
            *(
                at_least(ms["push_relabel"][i] / ms[who][i], 5)
                for who in ("apfb-gpubfs_wr-ct", "p_dbfs")
                for i in (0, 1)
            ),
            16,
        ],
        "G-HKDW is within": [*(at_least(-ms["apfb-gpubfs_wr-ct"][i] / best[i], -1.5) for i in (0, 1)), 8],
        "speed-ups over PR": [
            speed.of(column, *rows, "PR")
            for rows in (("original",), ("permuted",))
            for column in ("least speed-up", "largest", "mean")
        ],
        "most executions": [32, *span(np.delete(few, [6, 7])), few[6], few[7]],
        "G-PR is 1.30": [
            *(speed.of("mean", g, o) for o in ("G-HKDW (APFB)", "P-DBFS") for g in ("original", "permuted")),
            4.5,
            6.0,
            2.6,
            3.3,
            0.4,
            0.7,
            *(fast.of(c, "apfb-gpubfs_wr-mt") / gpu.of(c, "g_pr_shr-adaptive-0.7") for c in ("ms", "permuted: ms")),
        ],
    }


def europar() -> dict:
    two = Column("papers-deveci-europar", "Fig. 2")
    means = {
        (what, who): [two.of(what, f"geometric mean, {kind}", who) for kind in ("original", "RCP")]
        for what in ("iterations", "BFS kernels")
        for who in (
            "APFB, GPUBFS",
            "APFB, GPUBFS-WR",
            "APFB, GPUBFS-WR, recorded rows",
            "APsB, GPUBFS",
            "APsB, GPUBFS-WR",
        )
    }
    edges = {
        who: (two.over("edges", EIGHT, who), two.over("edges", [f"{n}, RCP" for n in ALL], who))
        for who in ("APFB, GPUBFS", "APFB, GPUBFS-WR", "APsB, GPUBFS", "APsB, GPUBFS-WR")
    }
    calls = {
        who: two.over("BFS kernels", EIGHT, who)
        for who in ("APFB, GPUBFS", "APFB, GPUBFS-WR", "APsB, GPUBFS", "APsB, GPUBFS-WR")
    }
    fewer = [edges["APFB, GPUBFS"][i] / edges["APFB, GPUBFS-WR"][i] for i in (0, 1)]
    more = np.concatenate([edges["APsB, GPUBFS"][i] / edges["APsB, GPUBFS-WR"][i] for i in (0, 1)])
    gpu = Column("papers-deveci-europar-cuda", "Euro-Par 2013, table 1")
    ms = {
        (a, s, g): [gpu.of(c, f"{a}-{s}-{g}") for c in ("ms", "permuted: ms")]
        for a in ("apfb", "apsb")
        for s in ("gpubfs", "gpubfs_wr")
        for g in ("mt", "ct")
    }
    speed = Column("papers-deveci-europar-cuda", "Euro-Par 2013, Fig. 3")
    search = Column("papers-deveci-europar-cuda", "Searches")
    mean_of = {
        who: [mean(search.over(who, MEASURED)), mean(search.over(who, [f"{n} permuted" for n in MEASURED]))]
        for who in ("p_dbfs", "p_pf", "p_hk")
    }
    of = [means["iterations", w] for w in ("APFB, GPUBFS", "APsB, GPUBFS", "APFB, GPUBFS-WR", "APsB, GPUBFS-WR")]
    kernels = [means["BFS kernels", w] for w in ("APFB, GPUBFS-WR", "APsB, GPUBFS-WR", "APFB, GPUBFS", "APsB, GPUBFS")]
    phases = [
        gpu.rows[[r[0] for r in gpu.rows].index(f"{a}-{s}-mt")][i]
        for s in ("gpubfs", "gpubfs_wr")
        for a in ("apfb", "apsb")
        for i in (2, 5)
    ]
    levels = [gpu.of("levels", f"{a}-{s}-mt") for s in ("gpubfs_wr", "gpubfs") for a in ("apfb", "apsb")]
    serial = Column("papers-deveci-europar", "Sequential")
    return {
        "APFB converges": [*(x for pair in of for x in pair), *map(float, phases)],
        "for most graphs": [
            *(x for pair in kernels for x in pair),
            *levels,
            at_least(calls["APsB, GPUBFS-WR"] - calls["APFB, GPUBFS-WR"], 1),
            8,
        ],
        "on few graphs": [
            calls[w][i] for i in (0, 1) for w in ("APsB, GPUBFS", "APsB, GPUBFS-WR", "APFB, GPUBFS", "APFB, GPUBFS-WR")
        ],
        "roots avoid": [*span(fewer[0]), *span(fewer[1]), *span(more), 5, at_least(-more, -0.999), len(more)],
        "recorded rows do": [
            x
            for what in ("iterations", "BFS kernels")
            for w in ("APFB, GPUBFS-WR, recorded rows", "APFB, GPUBFS-WR")
            for x in means[what, w]
        ],
        "roots (GPUBFS-WR)": [
            *(
                x / y
                for a in ("apfb", "apsb")
                for g in ("mt", "ct")
                for x, y in zip(ms[a, "gpubfs", g], ms[a, "gpubfs_wr", g], strict=True)
            ),
            1.34,
            1.16,
            1.01,
            0.82,
        ],
        "APFB with roots and": [
            *(x for a in ("ct", "mt") for s in ("gpubfs_wr", "gpubfs") for x in ms["apfb", s, a]),
            *span([v[0] for k, v in ms.items() if k[0] == "apsb"]),
            *span([v[1] for k, v in ms.items() if k[0] == "apsb"]),
        ],
        "P-DBFS is the best": [mean_of["p_dbfs"][0], mean_of["p_pf"][0], mean_of["p_hk"][0], mean_of["p_dbfs"][1]],
        "P-PFP is more": [
            *mean_of["p_pf"],
            mean_of["p_pf"][1] / mean_of["p_pf"][0],
            mean_of["p_dbfs"][1] / mean_of["p_dbfs"][0],
        ],
        "P-HK is outperformed": mean_of["p_hk"],
        "speed-ups over PFP": [*(speed.of(c, "permuted", "PFP") for c in ("least speed-up", "largest", "mean")), 5, 8],
        "mean speed-ups": [
            *(speed.of("mean", g, "the fastest sequential program") for g in ("original", "permuted")),
            *(speed.of("mean", g, w) for w in ("P-DBFS", "P-PFP", "P-HK") for g in ("original", "permuted")),
        ],
        "permutations make": [
            serial.of("HK: edges", f"{n}, RCP") / serial.of("HK: edges", n) for n in ("delaunay", "rgg")
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
    random = {d: equation.of("random: first round, %", d) for d in ("3", "5", "10", "20", "40")}
    return {
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
