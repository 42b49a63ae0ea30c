"""Graphs for `python -m benchmarks matching --device cuda`, kept on disk, and what others took for graphs like them.

A graph is made once, by a process of its own, matched by the CPU's default, certified, and written to a folder.
"""

import tempfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.spatial import Delaunay

import matching
from benchmarks import matching_instances as instances

SKEWED = (0.57, 0.19, 0.19, 0.05)  # of Graph500

STRIPS = 64
MARGIN = 8.0  # of a strip, in mean distances of points; the largest empty circles have radii of about 3


def delaunay(scale):
    """instances.delaunay by threads, each with some strips of the square, but for some edges of the hull.

    A triangle belongs to the strip in which its circle has its centre; it is right if the circle does not leave what
    is known there.  Those with larger circles, at the border of the square, are left out.
    """
    n = 1 << scale
    points = np.random.default_rng(instances.SEED).random((n, 2))
    by_height = np.argsort(points[:, 1])
    height = points[by_height, 1]
    bounds = np.linspace(0, 1, STRIPS + 1)

    def triangles(strip):
        low, high = bounds[strip : strip + 2]
        lowest, highest = low - MARGIN / n**0.5, high + MARGIN / n**0.5
        near = by_height[slice(*np.searchsorted(height, (lowest, highest)))]
        corners = Delaunay(points[near]).simplices
        a, b, c = (points[near[corners[:, i]]] for i in range(3))
        b, c = b - a, c - a
        twice = 2 * (b[:, 0] * c[:, 1] - b[:, 1] * c[:, 0])
        bb, cc = (b * b).sum(1), (c * c).sum(1)
        across = (c[:, 1] * bb - b[:, 1] * cc) / twice
        up = (b[:, 0] * cc - c[:, 0] * bb) / twice
        centre, radius = a[:, 1] + up, np.hypot(across, up)
        kept = (centre >= low) | (strip == 0)
        kept &= (centre < high) | (strip == STRIPS - 1)
        kept &= (centre - radius >= lowest) | (lowest <= 0)
        kept &= (centre + radius <= highest) | (highest >= 1)
        return near[corners[kept]]

    with ThreadPoolExecutor(cpu_count()) as pool:
        corners = np.concatenate(list(pool.map(triangles, range(STRIPS))))
    return instances.symmetric(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]), n)


FAMILIES = {
    "delaunay 2^20": instances.PLAIN["delaunay 2^20"],
    "delaunay 2^22": lambda: delaunay(22),
    "kron 2^20": lambda: instances.rmat(20, 16, SKEWED, both=True),
    "rgg 2^21": lambda: instances.random_geometric(21, 15),
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

# Graphs like those of the papers' tables that can be generated; as many edges as theirs have.
OF_PAPER = {
    "delaunay_n20": instances.PLAIN["delaunay 2^20"],
    "kron_g500-logn20": lambda: instances.rmat(20, 48, SKEWED, both=True),
    "delaunay_n21": lambda: delaunay(21),
    "kron_g500-logn21": lambda: instances.rmat(21, 48, SKEWED, both=True),
    "delaunay_n22": lambda: delaunay(22),
    "delaunay_n23": lambda: delaunay(23),
    "delaunay_n24": lambda: delaunay(24),
    "rgg_n_2_24": lambda: instances.random_geometric(24, 15.8),
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
    """Write a graph, complete or not at all; known by its name, or a file that the name is the path of."""
    table = known()
    matrix = table[name]() if name in table else instances.from_file(name)
    graph = matching.bipartite_graph(matrix)
    found = matching.maximum(graph, device="cpu", threads=1)
    found.check()
    unfinished = path.with_suffix(".part.npz")
    np.savez(unfinished, ptr=graph.row_ptr, adj=graph.row_adj, shape=graph.shape, size=found.cardinality)
    unfinished.replace(path)


def prepared(names, folder) -> dict[str, Path]:
    """{name: file} of graphs, made side by side where they are not there yet; a file's own name is its stem."""
    folder = Path(tempfile.mkdtemp(prefix="matching-graphs-") if folder is None else folder)
    folder.mkdir(parents=True, exist_ok=True)
    table = known()
    short = {name: name if name in table else Path(name).name.partition(".")[0] for name in names}
    paths = {name: path_of(short[name], folder) for name in names}
    missing = {name: path for name, path in paths.items() if not path.exists()}
    if len(missing) == 1:
        make(*next(iter(missing.items())))
    elif missing:
        workers = min(len(missing), cpu_count() or 1)
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            list(pool.map(make, missing.keys(), missing.values()))
    return {short[name]: path for name, path in paths.items()}
