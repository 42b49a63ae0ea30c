"""Other programs for the same problem, each as `run(problem) -> (value, labels)`; labels True = source side.

None of them is needed to use cutmatch: a baseline that is not installed is listed as missing.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np


class Baseline(NamedTuple):
    """A program; `prepare` makes what `run` gets, outside of the clock, where a benchmark says so."""

    module: str
    distribution: str
    run: Callable
    prepare: Callable | None = None

    @property
    def installed(self) -> bool:
        return find_spec(self.module) is not None


def pymaxflow(problem):
    """PyMaxflow (Boykov and Kolmogorov's program): build the graph, solve, read the labels."""
    import maxflow

    shape = problem.source.shape
    graph = maxflow.Graph[int](problem.source.size, len(problem.edges) * problem.source.size)
    ids = graph.add_grid_nodes(shape)
    for offset, weights in problem.edges.items():
        structure = np.zeros((3,) * len(shape))
        structure[tuple(1 + o for o in offset)] = 1
        graph.add_grid_edges(ids, weights=weights, structure=structure, symmetric=True)
    graph.add_grid_tedges(ids, problem.source, problem.sink)
    value = graph.maxflow()
    return value, ~graph.get_grid_segments(ids)


BASELINES = {"PyMaxflow": Baseline("maxflow", "PyMaxflow", pymaxflow)}
