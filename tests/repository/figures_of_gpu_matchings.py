"""The values of the rows of docs/benchmarks/papers.md on matchings on a GPU; see figures_of_flows.py."""

import numpy as np

from tests.repository.figures_of_flows import Column, at_least, mean, span
from tests.repository.figures_of_matchings import ALL, EIGHT

STRATEGIES = "adaptive-1.5", "fix-50", "adaptive-0.3", "adaptive-0.7", "fix-10"
MEASURED = ["delaunay 2^20", "rgg 2^18", "rmat 2^18", "kron 2^18", "road 1000^2", "uniform 2", "uniform 3", "uniform 5"]


def by_name(graph: str, name: str) -> float:
    """A value of the papers' own graphs, whose seconds the papers print."""
    return Column("matching-cuda-paper", number=2).of(name, graph)


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
    strategies = [row[1] for row in rounds.rows if row[0] == "delaunay"]
    conflicts = [100 * rounds.of("conflicts", g, of) / rounds.of("pushes", g, of) for g in EIGHT for of in strategies]
    lists = {
        c: [[gpu.of(c, f"g_pr_{of}-{k}") for of in ("first", "noshr", "shr")] for k in STRATEGIES]
        for c in ("ms", "permuted: ms")
    }
    gain = {c: 100 * (1 - np.array(of)[:, 1] / np.array(of)[:, 0]) for c, of in lists.items()}
    shrunk = [span([100 * (1 - shr / noshr) for _, noshr, shr in of]) for of in lists.values()]
    im = Column("papers-deveci-icpp", "Table I")
    edges = Column("papers-deveci-icpp", "Frequency")
    factors = (0.25, 0.5, 1)
    by_factor = np.array([edges.over(f"k = {k}: edges", EIGHT) for k in (0.1, *factors, 2)])
    fewest = [
        (by_factor == by_factor.min(0)).argmax(0)[by_factor.max(0) > by_factor.min(0)].tolist().count(i)
        for i in (1, 2, 3)
    ]
    above = 100 * (by_factor[2] / by_factor.min(0) - 1)
    paper = Column("matching-cuda-paper")
    ratios = {
        row[0]: paper.where("search ms", graph=row[0], asked="apfb-gpubfs_wr-ct")[0]
        / paper.where("search ms", graph=row[0], asked="g_pr_shr-adaptive-0.7")[0]
        for row in paper.rows
    }
    faster = [speed.shares("at least as fast", g, "all of these") for g in ("original", "permuted")]
    near = [speed.shares("5 times as fast", g, "all of these")[0] for g in ("original", "permuted")]
    return {
        "G-PR, G-HKDW, P-DBFS": [
            *(
                by_name(graph, of)
                for graph in ("delaunay_n20", "kron_g500-logn21", "delaunay_n24")
                for of in ("G-PR here s", "G-PR printed s")
            ),
            search.of("g_pr_shr-adaptive-0.7", "delaunay 2^20") / 1000,
        ],
        "global relabeling every": [*factors, *fewest, np.delete(above, 4 - 1).max(), above[4 - 1]],
        "speed-up profile": [
            *(x for g in ("original", "permuted") for x in speed.shares("5 times as fast", g, "PR")),
            5,
            sum(speed.shares("at least as fast", g, "PR")[0] for g in ("original", "permuted")),
        ],
        "performance profile": [*(x for of in faster for x in of), 1.5, sum(near), sum(of[1] for of in faster)],
        "with a perfect matching": [
            max(float(row[-1]) for row in rounds.rows if row[0] in ALL),
            len({row[1] for row in rounds.rows}),
            len({row[0] for row in rounds.rows if row[0] in ALL}),
        ],
        "conflicts of pushes": span(conflicts),
        "lists of active": [
            1.5,
            50,
            *lists["ms"][0][:2],
            *lists["ms"][1][:2],
            *gain["ms"][:2],
            *span(gain["ms"][2:]),
            *span(gain["permuted: ms"]),
        ],
        "shrinking the lists": [
            *shrunk[0],
            *shrunk[1],
            *(np.mean([100 * (1 - shr / noshr) for _, noshr, shr in of]) for of in lists.values()),
        ],
        "the cheap matching finds": [im.of("cheap, % of maximum", name) for name in ("delaunay", "kron", "road")],
        "FIFO order": [orders.of(f"{order}: edges", "mean / fifo") for order in ("lifo", "highest", "lowest")],
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
            *(ratios[n] for n in ("kron_g500-logn20", "kron_g500-logn21", "road 4000^2", "uniform 8M 3")),
            *span([ratio for name, ratio in ratios.items() if name.startswith("delaunay")]),
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
    over_hk = search.over("pothen_fan", MEASURED) / search.over("hopcroft_karp", MEASURED)
    best = [speed.shares("at least as fast", g, "all of these") for g in ("original", "permuted")]
    return {
        "seconds on the 20": [
            by_name(graph, of)
            for graph in ("rgg_n_2_24", "kron_g500-logn21", "delaunay_n24")
            for of in ("APFB here s", "APFB printed s")
        ],
        "performance profiles": [16, *(x for of in best for x in of)],
        "a constant number": [
            *span(
                [ms[a, "gpubfs_wr", "ct"][i] / ms[a, "gpubfs_wr", "mt"][i] for a in ("apfb", "apsb") for i in (0, 1)]
            ),
            *span([ms[a, "gpubfs", "mt"][i] / ms[a, "gpubfs", "ct"][i] for a in ("apfb", "apsb") for i in (0, 1)]),
        ],
        "HK is the faster": [
            serial.of("time PFP / HK", "mean, RCP"),
            serial.of("time PFP / HK", "mean, original"),
            *over_hk[:3],
            2,
            over_hk[3:6].max(),
        ],
        "speed-ups over HK": [
            *(speed.of(c, "original", "HK") for c in ("least speed-up", "largest", "mean")),
            search.of("apfb-gpubfs_wr-ct", "rgg 2^18"),
            5,
            7,
            8,
        ],
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
