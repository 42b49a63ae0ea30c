"""The values of the rows of docs/benchmarks/papers.md on flows and assignments, computed from benchmarks/results.

{what the paper says, or its beginning: the values in the cell "here"}
"""

import re
from functools import cache
from pathlib import Path

import numpy as np

from apps.motion.windows import UNMATCHED_COST

WORK = "generic (4.2)", "global and gap"
ROOT = Path(__file__).resolve().parents[2]


@cache
def sections(stem: str) -> dict:
    """{title: [(columns, rows of cells) of each table]} of a file of results."""
    found: dict = {}
    for part in (ROOT / f"benchmarks/results/{stem}.md").read_text("utf-8").split("\n## "):
        for lines in re.findall(r"(?:^\|.*\|\n)+", part + "\n", re.MULTILINE):
            rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines.splitlines()]
            found.setdefault(part.split("\n")[0], []).append((rows[0], rows[2:]))
    return found


class Column:
    """`Column(stem, title)[name, of, keys]`: the column `name` of the rows that begin with `keys`, by `of`.

    title   of a section, or its beginning;  number   of the table in it
    """

    def __init__(self, stem: str, title: str = "", number: int = 0):
        self.names, self.rows = next(of for name, of in sections(stem).items() if name.startswith(title))[number]

    def where(self, name: str, **of: str) -> list[float]:
        """The values of the rows with these cells."""
        at = {self.names.index(key): cell for key, cell in of.items()}
        rows = [row for row in self.rows if all(row[i] == cell for i, cell in at.items())]
        return [float(row[self.names.index(name)]) for row in rows]

    def shares(self, name: str, *start: str) -> list[int]:
        """The numbers of a cell such as "7 of 8"."""
        return [int(number) for number in re.findall(r"\d+", self.of_text(name, *start))]

    def of(self, name: str, *start: str, sweep: int = -1) -> float:
        """The value of the only row that begins with `start`, or of that of a sweep, which lists its default again."""
        rows = [row for row in self.rows if tuple(row[: len(start)]) == start]
        row = rows[sweep]
        assert sweep >= 0 or len(rows) == 1, rows
        return float(row[self.names.index(name)].replace(" ", "").split("(")[0].split("±")[0])

    def of_text(self, name: str, *start: str) -> str:
        """The only cell of such a row as it is."""
        (row,) = (row for row in self.rows if tuple(row[: len(start)]) == start)
        return row[self.names.index(name)]

    def over(self, name: str, groups, *end: str, sweep: int = -1) -> np.ndarray:
        starts = ([group] if isinstance(group, str) else group for group in groups)
        return np.array([self.of(name, *start, *end, sweep=sweep) for start in starts])

    def ranges(self, name: str, groups, *end: str) -> list[float]:
        """The least and the largest value of cells "a to b"."""
        rows = [row for row in self.rows if row[0] in groups and tuple(row[1 : 1 + len(end)]) == end]
        return span([float(value) for row in rows for value in row[self.names.index(name)].split(" to ")])


def span(*arrays) -> list[float]:
    """The least and the largest value."""
    values = np.concatenate([np.ravel(array) for array in arrays])
    return [values.min(), values.max()]


def mean(values) -> float:
    return float(np.exp(np.mean(np.log(values))))


def at_least(values, bound) -> int:
    return int((np.asarray(values) >= bound).sum())


def lupinska() -> dict:
    heuristics = Column("papers-lupinska", "Heuristics")
    grids = ["astronaut", "ising camera", "grey camera, 100"]
    gain = {
        (order, variant): heuristics.over("gain", grids, order, variant)
        for order in ("fifo", "highest")
        for variant in ("gap", "global", "global and gap")
    }
    cycle = Column("papers-lupinska", "CYCLE")
    work = {c: cycle.over("pushes", grids, c) + cycle.over("relabels", grids, c) for c in ("10", "7 000")}
    launches = cycle.over("launches", grids, "10")
    gpu = Column("papers-lupinska-cuda", "CYCLE")
    on_gpu = ["astronaut", "ising camera", "grey camera x4"]
    cycles = np.array([gpu.over("ms", on_gpu, "hybrid", name, sweep=0) for name in ("default", "default, again")])
    shorter = gpu.over("ms", on_gpu, "hybrid", "cycle = 2000")
    gaps = Column("papers-lupinska", "Gap relabeling")
    layout = Column("papers-lupinska", "Layout").over(
        "pair / pixel", [(g, k) for g in grids for k in ("16 kB", "48 kB")]
    )
    alpha = Column("papers-lupinska", "ALPHA")
    of_alpha = {
        a: np.array([alpha.of(f"{x}: operations", n, a) for n in ("30", "200") for x in ("5.0", "5.1", "5.2")])
        for a in ("2", "10", "100")
    }
    free = Column("papers-lupinska-cuda", "ALPHA")
    names = {4: "alpha = 4", 10: "default", 100: "alpha = 100"}
    lock_free = {a: free.over("ms", ["30", "100", "200"], name) for a, name in names.items()}
    repeats = [free.of("ms", "200", name) for name in ("default", "default, again", "block = 512")]
    scaling = Column("papers-lupinska", "Algorithms 5.0")
    problems = [(n, c) for n in ("30", "100", "300", "800") for c in ("u100", "geometric 1e3")]
    saved = np.array(
        [scaling.of("neither", *p, x) / scaling.of("both", *p, x) for p in problems for x in ("5.0", "5.1", "5.2")]
    )
    ratios = [scaling.of("both", *p, "5.2") / min(scaling.of("both", *p, x) for x in ("5.0", "5.1")) for p in problems]
    rules = Column("papers-lupinska", "How often")
    some = [(n, c) for n in ("30", "100", "300") for c in ("u100", "geometric 1e3")]
    every = rules.over("every V", some)
    work_of = Column("papers-lupinska", "The lock-free")
    ratio = work_of.over("ratio", ["10", "30", "100", "200", "300"])
    defaults = np.array(
        [
            [gpu.over("ms", on_gpu, "cudacuts", name, sweep=sweep) for name in ("default", "default, again")]
            for sweep in (0, 1)
        ]
    )
    shapes = [(32, 4), (32, 16), (16, 16), (64, 4), (8, 32)]
    block = np.array([defaults[1, 0], *(gpu.over("ms", on_gpu, "cudacuts", f"block = {shape}") for shape in shapes)])
    phases = ("pushes = 2, global_every = 42", "pushes = 4, global_every = 25", "pushes = 8, global_every = 14")
    pushed = [gpu.over("ms", on_gpu, "cudacuts", name) / defaults[0, 0] for name in phases]
    fifo, highest = (heuristics.over("gain", grids, order, "global") for order in ("fifo", "highest"))
    extra = {o: gain[o, "global and gap"] / gain[o, "global"] for o in ("fifo", "highest")}
    two = Column("papers-lupinska", "Lock-free and")
    ranges = Column("papers-lupinska", "Global relabeling of")
    last = scaling.names[-2:]
    timed = {
        n: [
            scaling.over(name, [(n, c, x) for c in ("u100", "geometric 1e3") for x in ("5.0", "5.1", "5.2")])
            for name in last
        ]
        for n in ("30", "100", "300", "800")
    }
    fixed = [
        scaling.of("arcs fixed, both", *p, x) / int(p[0]) ** 2 for p in problems[4:] for x in ("5.0", "5.1", "5.2")
    ]
    rate = Column("papers-lupinska", "Frequency")
    often = {
        k: [rate.over(c, grids, f"{k} n") for c in ("fifo: operations", "global relabelings")]
        for k in ("0.1", "1", "4")
    }
    flow = Column("papers-lupinska", "Optical flow")
    vertices, arcs = 64**2, 4 * 64 * 63  # of the grids of 64 by 64 pixels
    total = {v: heuristics.over("pushes", [(g, o, v) for g in grids for o in ("fifo", "highest")]) for v in WORK}
    for v in WORK:
        total[v] += heuristics.over("relabels", [(g, o, v) for g in grids for o in ("fifo", "highest")])
    schemes = Column("gridcut-cuda-schemes")
    seconds = {of: np.array(schemes.where("kernel s", method=of)) for of in {row[2] for row in schemes.rows}}
    equal = [
        scaling.of("neither", *row[:3]) == scaling.of("arc fixing", *row[:3])
        and scaling.of("price updates", *row[:3]) == scaling.of("both", *row[:3])
        for row in scaling.rows
    ]
    on_card = Column("assign-cuda", number=2)
    refines = [
        alpha.of(f"{x}: refines", n, a) for n in ("30", "200") for a in ("2", "100") for x in ("5.0", "5.1", "5.2")
    ]
    return {
        "optical flow by": [
            96,
            flow.of("windows", "lock_free"),
            flow.of("most points", "lock_free"),
            flow.of("within 3 pixels, %", "lock_free"),
            flow.of("matches", "lock_free"),
            3,
            5.4,
            UNMATCHED_COST,
            100,
        ],
        "atomic functions are": span(seconds["cudacuts_pull"] / seconds["cudacuts"]),
        "generic push–relabel": [total[WORK[0]].max(), vertices**2 * arcs],
        "the generic algorithm": [*span(total[WORK[0]]), vertices, *span(total[WORK[1]])],
        "synchronisation makes": [
            x
            for of in ("hybrid", "lock_free")
            for x in (at_least(seconds[of] / seconds["cudacuts"], 1), len(seconds[of]))
        ],
        "the hybrid scheme": [
            *span(schemes.where("/ tiles", method="hybrid")),
            at_least(seconds["lock_free"] / seconds["hybrid"], 1),
            6,
        ],
        "an edge with": [sum(equal)],
        "the lock-free algorithm terminates": two.ranges("operations / push_relabel", grids, "lock_free"),
        "asynchronous global relabeling improves": [
            *ranges.ranges("none / asynchronous", grids),
            *ranges.ranges("synchronous / asynchronous", grids),
            *two.ranges("time / lock_free", grids, "async_global"),
        ],
        "global relabeling is usually": [
            0.1,
            4,
            *span(often["0.1"][0] / often["1"][0]),
            *span(often["0.1"][1] / often["1"][1]),
            *span(often["4"][0] / often["1"][0]),
        ],
        "the number of Refines": [*span(refines), 1, 100],
        "arc fixing decreases": [
            *span(100 * np.array(fixed)),
            300,
            800,
            30,
            100,
            *span(timed["300"][0], timed["800"][0]),
            *span(timed["30"][0], timed["100"][0]),
            *span(*(of[1] for of in timed.values())),
        ],
        "n = 30, costs": [
            work_of.of("lock-free, ms", "30"),
            5.2,
            work_of.of("5.2, ms", "30"),
            *on_card.where("ms", size="30", method="lock_free"),
        ],
        "on large complete": [
            *span(work_of.over("lock-free: time / default", ["10", "30", "100", "200", "300"])),
            10,
            300,
            200,
            *(on_card.where("ms", size="200", method=of)[0] for of in ("lock_free", "auction")),
        ],
        "global relabeling improves": [*span(fifo), *span(highest)],
        "the effect of gap": [*span(gain["fifo", "gap"]), *span(fifo), *span(gain["highest", "gap"]), *span(highest)],
        "gap relabeling improves": [
            *span(gain["fifo", "gap"], gain["highest", "gap"]),
            *span(extra["highest"]),
            *span(extra["fifo"]),
        ],
        "several push phases": [2, 4, 8, *(x for of in pushed for x in span(of))],
        "blocks of 32×8": [
            32,
            8,
            *span(100 * (block.max(0) / block.min(0) - 1)),
            100 * (block[0] / block.min(0) - 1).max(),
            *span(100 * (defaults[1].max(0) / defaults[1].min(0) - 1)),
        ],
        "CYCLE = 7000": [
            7000,
            10,
            2000,
            *span(work["7 000"] / work["10"]),
            *span(launches),
            *(cycles[0] / shorter),
            *span(100 * (cycles.max(0) / cycles.min(0) - 1)),
        ],
        "gap relabeling after": [
            10,
            100,
            1000,
            7000,
            *span(gaps.over("without / gap", grids, "10")),
            *span(gaps.over("without / gap", grids, "100")),
        ],
        "storing an arc": span(layout),
        "their differences": [5.0, 5.1, 5.2, *span(ratios)],
        "price updates decrease": span(saved),
        "global price updates once": [
            4,
            *span(rules.over("once, after V", some) / every),
            *span(rules.over("every V / 4", some) / every),
        ],
        "ALPHA = 10": [
            2,
            10,
            100,
            4,
            *span(of_alpha["2"] / of_alpha["10"]),
            *span(of_alpha["100"] / of_alpha["10"]),
            *span(lock_free[4] / lock_free[10]),
            *(lock_free[100] / lock_free[10])[:2],
            30,
            200,
            100 * (max(repeats) / min(repeats) - 1),
        ],
        "blocks of 32×16": [32, 1024, 30, 100, 512, 200, *repeats, 100 * (max(repeats) / min(repeats) - 1)],
        "the amount of work": [*span(ratio), 10, 300, 30, 100, 200, *ratio[1:]],
    }
