"""Graphs of the matching benchmarks: NAME -> function() -> CSR array, and recorded times for graphs like them.

"NAME permuted" has rows and columns in random order, which makes many programs slow.  For programs on a GPU, graphs are
kept on disk: a graph is generated once, in its own process, matched by the CPU's default, certified, and written to a
folder.
"""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse

import matching
from benchmarks import matching_graphs as graphs

SKEWED = (0.57, 0.19, 0.19, 0.05)  # of Graph500
LESS_SKEWED = (0.45, 0.15, 0.15, 0.25)
PERMUTED = " permuted"

PLAIN = {
    "delaunay 2^20": lambda: graphs.delaunay(20),
    "rgg 2^18": lambda: graphs.random_geometric(18, 15),
    "rmat 2^18": lambda: graphs.rmat(18, 16, LESS_SKEWED),
    "kron 2^18": lambda: graphs.rmat(18, 16, SKEWED, both=True),
    "road 1000^2": lambda: graphs.road(1000, 0.3),
    "uniform 2": lambda: graphs.uniform(1 << 20, 2),
    "uniform 3": lambda: graphs.uniform(1 << 20, 3),
    "uniform 5": lambda: graphs.uniform(1 << 20, 5),
    "ladder 100000": lambda: graphs.ladder(100_000),
}
HARD = {
    "rope 2^18": lambda: graphs.rope((1 << 18) // 6),
    "groups 2^18": lambda: graphs.groups(1 << 18, 256, 4),
    "dead ends 2 x 100000": lambda: graphs.dead_ends(100_000),
}
QUICK = {
    "delaunay 2^12": lambda: graphs.delaunay(12),
    "rmat 2^12": lambda: graphs.rmat(12, 8, LESS_SKEWED),
    "uniform 3, 4096": lambda: graphs.uniform(4096, 3),
}
# For a GPU.
FAMILIES = {
    "delaunay 2^20": PLAIN["delaunay 2^20"],
    "delaunay 2^22": lambda: graphs.delaunay(22),
    "kron 2^20": lambda: graphs.rmat(20, 16, SKEWED, both=True),
    "rgg 2^21": lambda: graphs.random_geometric(21, 15),
    "uniform 8M 3": lambda: graphs.uniform(1 << 23, 3),
    "road 1000^2": PLAIN["road 1000^2"],
    "rope 2^18": HARD["rope 2^18"],
    **{name: PLAIN[name] for name in ("rmat 2^18", "kron 2^18", "rgg 2^18", "uniform 2", "uniform 3", "uniform 5")},
}
LOCAL = ("delaunay 2^20", "delaunay 2^22", "rgg 2^18", "rgg 2^21", "road 1000^2", "rope 2^18")  # so their order matters
ON_GPU = (*FAMILIES, "delaunay_n24", *(name + PERMUTED for name in LOCAL))
MEDIUM = ("delaunay 2^20", "rgg 2^18", "rmat 2^18", "kron 2^18", "road 1000^2", "uniform 2", "uniform 3", "uniform 5")

# Graphs like those of the papers' tables that can be generated, with as many edges as theirs.  The last two stand for
# families: the road networks of 12 to 51 million vertices, and graphs without structure.
OF_PAPER = {
    "delaunay_n20": PLAIN["delaunay 2^20"],
    "kron_g500-logn20": lambda: graphs.rmat(20, 48, SKEWED, both=True),
    "delaunay_n21": lambda: graphs.delaunay(21),
    "kron_g500-logn21": lambda: graphs.rmat(21, 48, SKEWED, both=True),
    "delaunay_n22": lambda: graphs.delaunay(22),
    "delaunay_n23": lambda: graphs.delaunay(23),
    "delaunay_n24": lambda: graphs.delaunay(24),
    "rgg_n_2_24": lambda: graphs.random_geometric(24, 15.8),
    "road 4000^2": lambda: graphs.road(4000, 0.3),
    "uniform 8M 3": FAMILIES["uniform 8M 3"],
}

# For greedy matching: more than 10^7 edges each; and smaller ones.
GRIDS = {"grid 1000^2": lambda: graphs.road(1000, 0.0), "grid 2400^2": lambda: graphs.road(2400, 0.0)}
GREEDY = ("delaunay 2^22", "rgg 2^21", "kron 2^20", "grid 2400^2")


class Printed(NamedTuple):
    """Seconds in the papers, without the initial matching; the GPU a Tesla C2050, the CPU a dual Xeon of 2.27 GHz.

    g_pr     G-PR, (adaptive, 0.7), with shrinking          p_dbfs   8 threads
    g_hkdw   APFB, GPUBFS-WR, CT                            pr       one thread
    """

    g_pr: float | None
    g_hkdw: float | None
    p_dbfs: float | None
    pr: float | None


# Deveci, Kaya, Uçar, Çatalyürek, ICPP 2013, table I; the last line: Euro-Par 2013, table 2.
PRINTED = {
    "delaunay_n20": Printed(0.06, 0.04, 0.09, 0.32),
    "kron_g500-logn20": Printed(0.38, 0.60, 8.19, 1.24),
    "delaunay_n21": Printed(0.18, 0.13, 0.21, 1.06),
    "kron_g500-logn21": Printed(0.68, 0.99, 1.50, 2.77),
    "delaunay_n23": Printed(0.81, 0.96, 1.26, 8.86),
    "delaunay_n24": Printed(1.83, 1.98, 2.41, 23.01),
    "rgg_n_2_24": Printed(None, 3.68, 2.25, None),
}

# ECL-MM (Akathoott, Burtscher, IPDPS 2025): milliseconds of its initialisation and search, recorded once on an H200 for
# graphs of the same families and sizes, generated with other random numbers.
ECL_MM = {
    "delaunay 2^20": 69,
    "delaunay 2^20 permuted": 40,
    "delaunay 2^22": 100,
    "delaunay 2^22 permuted": 119,
    "kron 2^18": 4.9,
    "kron 2^20": 6.7,
    "rgg 2^18": 38,
    "rgg 2^18 permuted": 28,
    "rgg 2^21": 139,
    "rmat 2^18": 9.4,
    "road 1000^2": 27,
    "rope 2^18": 5260,
    "uniform 2": 7.5,
    "uniform 3": 43,
    "uniform 5": 14,
    "uniform 8M 3": 109,
}


class Kept(NamedTuple):
    """A graph by rows, and the cardinality of its maximum matching."""

    ptr: np.ndarray
    adj: np.ndarray
    shape: tuple[int, int]
    size: int

    @property
    def matrix(self) -> scipy.sparse.csr_array:
        return scipy.sparse.csr_array((np.ones(len(self.adj), np.int8), self.adj, self.ptr), shape=self.shape)


def with_permuted(known) -> dict:
    """The same graphs, and each of them with rows and columns permuted."""
    return known | {name + PERMUTED: lambda make=make: graphs.permuted(make()) for name, make in known.items()}


def known() -> dict:
    """All graphs by name."""
    return with_permuted(PLAIN | HARD | FAMILIES | OF_PAPER | GRIDS)


def hopeless_for_scipy(name) -> bool:
    """Graphs on which SciPy's search, which does not mark dead ends, may take exponential time."""
    return PERMUTED in name or name.startswith("dead ends")


def path_of(name: str, folder: Path) -> Path:
    return folder / (name.replace(" ", "_").replace("^", "") + ".npz")


def read(path) -> Kept:
    with np.load(path) as kept:
        return Kept(kept["ptr"], kept["adj"], tuple(kept["shape"].tolist()), int(kept["size"]))


def make(name: str, path: Path) -> None:
    """Write a graph atomically.

    A permuted graph is made of the plain one if that is in the folder, and has matchings of the same size.
    """
    plain = path_of(name.removesuffix(PERMUTED), path.parent)
    if plain != path and plain.exists():
        kept = read(plain)
        matrix, size = graphs.permuted(kept.matrix), kept.size
        graph = matching.bipartite_graph(matrix)
    else:
        graph = matching.bipartite_graph(known()[name]())
        found = matching.maximum(graph, device="cpu", threads=1)
        found.check()
        size = found.cardinality
    unfinished = path.with_suffix(".part.npz")
    np.savez(unfinished, ptr=graph.row_ptr, adj=graph.row_adj, shape=graph.shape, size=size)
    unfinished.replace(path)


def prepared(names, folder) -> dict[str, Path]:
    """{name: file} of graphs; missing ones are made in parallel.

    Permuted graphs come last, since they are made of the others.
    """
    folder = Path(tempfile.mkdtemp(prefix="matching-graphs-") if folder is None else folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: path_of(name, folder) for name in names}
    missing = {name: path for name, path in paths.items() if not path.exists()}
    for late in (False, True):
        some = {name: path for name, path in missing.items() if name.endswith(PERMUTED) == late}
        if len(some) == 1:
            make(*next(iter(some.items())))
        elif some:
            workers = min(len(some), cpu_count() or 1)
            with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
                list(pool.map(make, some.keys(), some.values()))
    return paths
