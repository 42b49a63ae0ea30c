"""Graphs for `python -m benchmarks matching --device cuda`, kept on disk, and what others took for graphs like them.

A graph is made once, by a process of its own, matched by the CPU's default, certified, and written to a folder.
"""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import NamedTuple

import numpy as np

import matching
from benchmarks import matching_instances as instances
from benchmarks import matching_large as large

SKEWED = (0.57, 0.19, 0.19, 0.05)  # of Graph500

FAMILIES = {
    "delaunay 2^20": instances.PLAIN["delaunay 2^20"],
    "delaunay 2^22": lambda: large.delaunay(22),
    "kron 2^20": lambda: large.skewed(20, 16, SKEWED),
    "rgg 2^21": lambda: large.near(21, 15),
    "uniform 8M 3": lambda: instances.uniform(1 << 23, 3),
    "road 1000^2": instances.PLAIN["road 1000^2"],
    "rope 2^18": instances.HARD["rope 2^18"],
    "rmat 2^18": instances.PLAIN["rmat 2^18"],
    "kron 2^18": instances.PLAIN["kron 2^18"],
    "rgg 2^18": instances.PLAIN["rgg 2^18"],
    "uniform 2": instances.PLAIN["uniform 2"],
    "uniform 3": instances.PLAIN["uniform 3"],
    "uniform 5": instances.PLAIN["uniform 5"],
}
MEDIUM = ("delaunay 2^20", "rgg 2^18", "rmat 2^18", "kron 2^18", "road 1000^2", "uniform 2", "uniform 3", "uniform 5")

# Graphs like those of the papers' tables that can be generated; as many edges as theirs have.  The last two stand for
# families: the road networks of 12 to 51 million vertices, and what has no structure.
OF_PAPER = {
    "delaunay_n20": instances.PLAIN["delaunay 2^20"],
    "kron_g500-logn20": lambda: large.skewed(20, 48, SKEWED),
    "delaunay_n21": lambda: large.delaunay(21),
    "kron_g500-logn21": lambda: large.skewed(21, 48, SKEWED),
    "delaunay_n22": lambda: large.delaunay(22),
    "delaunay_n23": lambda: large.delaunay(23),
    "delaunay_n24": lambda: large.delaunay(24),
    "rgg_n_2_24": lambda: large.near(24, 15.8),
    "road 4000^2": lambda: large.road(4000, 0.3),
    "uniform 8M 3": FAMILIES["uniform 8M 3"],
}

# For greedy matching: more than 10^7 edges each.
GREEDY = {name: FAMILIES[name] for name in ("delaunay 2^22", "rgg 2^21", "kron 2^20")}
GREEDY["grid 2400^2"] = lambda: instances.road(2400, 0.0)


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
# Euro-Par 2013, table 1: geometric means of seconds, of 28 original and 50 permuted graphs.
PRINTED_MEANS = {
    "apfb-gpubfs-mt": (2.96, 3.66),
    "apfb-gpubfs-ct": (1.89, 3.24),
    "apfb-gpubfs_wr-mt": (2.12, 1.13),
    "apfb-gpubfs_wr-ct": (1.34, 1.05),
    "apsb-gpubfs-mt": (3.68, 3.52),
    "apsb-gpubfs-ct": (2.88, 3.33),
    "apsb-gpubfs_wr-mt": (2.98, 2.22),
    "apsb-gpubfs_wr-ct": (2.27, 2.14),
}

# ECL-MM (Akathoott, Burtscher, IPDPS 2025): milliseconds of its initialisation and search, recorded once on an H200 for
# graphs of the same families and sizes, made with other random numbers.
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


def known() -> dict:
    """All graphs by name, those of the CPU's benchmark too."""
    return instances.GRAPHS | instances.with_permuted(FAMILIES | OF_PAPER | GREEDY)


def path_of(name: str, folder: Path) -> Path:
    return folder / (name.replace(" ", "_").replace("^", "") + ".npz")


def read(path) -> Kept:
    with np.load(path) as kept:
        return Kept(kept["ptr"], kept["adj"], tuple(kept["shape"].tolist()), int(kept["size"]))


def make(name: str, path: Path) -> None:
    """Write a graph, complete or not at all; known by its name, or a file that the name is the path of.

    A permuted one is made of the other, if that is there, and has matchings of the same size.
    """
    table = known()
    plain = path_of(name.removesuffix(instances.PERMUTED), path.parent)
    if plain != path and plain.exists():
        kept = read(plain)
        matrix, size = large.permuted(large.as_matrix(kept.ptr, kept.adj, kept.shape)), kept.size
        graph = matching.bipartite_graph(matrix)
    else:
        graph = matching.bipartite_graph(table[name]() if name in table else instances.from_file(name))
        found = matching.maximum(graph, device="cpu", threads=1)
        found.check()
        size = found.cardinality
    unfinished = path.with_suffix(".part.npz")
    np.savez(unfinished, ptr=graph.row_ptr, adj=graph.row_adj, shape=graph.shape, size=size)
    unfinished.replace(path)


def prepared(names, folder) -> dict[str, Path]:
    """{name: file} of graphs, made side by side where they are not there yet; a file's own name is its stem.

    Permuted ones come last, since they are made of the others.
    """
    folder = Path(tempfile.mkdtemp(prefix="matching-graphs-") if folder is None else folder)
    folder.mkdir(parents=True, exist_ok=True)
    table = known()
    short = {name: name if name in table else Path(name).name.partition(".")[0] for name in names}
    paths = {name: path_of(short[name], folder) for name in names}
    missing = {name: path for name, path in paths.items() if not path.exists()}
    for late in (False, True):
        some = {name: path for name, path in missing.items() if name.endswith(instances.PERMUTED) == late}
        if len(some) == 1:
            make(*next(iter(some.items())))
        elif some:
            workers = min(len(some), cpu_count() or 1)
            with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
                list(pool.map(make, some.keys(), some.values()))
    return {short[name]: path for name, path in paths.items()}
