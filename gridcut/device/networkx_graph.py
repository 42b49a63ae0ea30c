"""Graphs of networkx as adjacency lists; networkx itself is not imported.

Graphs are recognised by networkx's interface, so subclasses and graphs of other libraries with it are accepted, too.
Looking up a dictionary per edge takes most of the time, so the lists of neighbours are read in one pass, and each edge
attribute in another one, on request.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from math import inf
from operator import itemgetter, methodcaller
from typing import Any, Protocol, TypeGuard

import numpy as np

INTEGERS = int | np.integer | np.bool_
NUMBERS = INTEGERS | float | np.floating


class NetworkxGraph(Protocol):
    """What is used of a networkx.Graph, DiGraph, MultiGraph or MultiDiGraph."""

    @property
    def nodes(self) -> Any: ...
    @property
    def adj(self) -> Any: ...
    def is_directed(self) -> bool: ...
    def is_multigraph(self) -> bool: ...


def is_networkx(graph) -> TypeGuard[NetworkxGraph]:
    """Whether `graph` has the interface of networkx."""
    return all(hasattr(graph, name) for name in ("nodes", "adj", "is_directed", "is_multigraph"))


def adjacency_of(graph: NetworkxGraph) -> Any:
    """The dict of each node's neighbours; of a directed graph, of its successors."""
    return getattr(graph, "_adj", graph.adj)  # the dicts themselves are several times faster than networkx's views


class AdjacencyLists:
    """The adjacency of a graph as arrays.

    nodes    in the graph's order
    index    the index of each node
    indptr   node i has the entries indptr[i] to indptr[i + 1], in the graph's order
    indices  the index of the node that each entry leads to

    parallel   whether each of several parallel edges is an entry, or all of them are one
    """

    def __init__(self, graph: NetworkxGraph, *, parallel: bool = False):
        self._adjacency = adjacency_of(graph)
        self._is_split = parallel and graph.is_multigraph()
        self.nodes = list(self._adjacency)
        lists = self._adjacency.values()
        if self._is_split:
            lengths: Iterable[int] = (sum(map(len, ends.values())) for ends in lists)
            ends: Iterable = (end for ends in lists for end, edges in ends.items() for _ in edges)
        else:
            lengths, ends = map(len, lists), chain.from_iterable(lists)
        self.indptr = np.cumsum([0, *lengths], dtype=np.int64)
        self.index = dict(zip(self.nodes, range(len(self.nodes)), strict=True))
        self.indices = np.fromiter(map(self.index.__getitem__, ends), np.int64, int(self.indptr[-1]))

    def attribute(self, name: Any, default: Any) -> list:
        """An edge attribute of every entry; the default for edges without it."""
        try:
            return list(map(itemgetter(name), self._data()))
        except KeyError:
            return [data.get(name, default) for data in self._data()]

    def _data(self) -> Iterator[dict]:
        """The attributes of every entry."""
        data = _values_of(self._adjacency.values())
        return _values_of(data) if self._is_split else data


def _values_of(dicts: Iterable) -> Iterator:
    """The values of all dicts, one dict after the other."""
    return chain.from_iterable(map(methodcaller("values"), dicts))


def numbers_of(given: list) -> tuple[np.ndarray, np.ndarray] | None:
    """An edge attribute as an array, 0 where it is +inf, and where that is; None if a value is not a real number.

    The array is int64 if all finite values are integers, or Python's integers if one does not fit; else float64.
    """
    try:
        array = np.array(given) if given else np.zeros(0, np.int64)
    except ValueError:  # sequences of several lengths
        return None
    if array.ndim != 1 or array.dtype.kind not in "biufO":
        return None
    if array.dtype.kind in "bi":
        return array.astype(np.int64), np.zeros(len(given), bool)
    if array.dtype.kind == "O" and not all(isinstance(value, NUMBERS) for value in given):
        return None
    infinite = np.array([value == inf for value in given]) if array.dtype.kind == "O" else array == inf
    finite = given
    if infinite.any():
        finite = [0 if is_infinite else value for value, is_infinite in zip(given, infinite.tolist(), strict=True)]
    if all(isinstance(value, INTEGERS) for value in finite):
        integers = [int(value) for value in finite]
        fits = max(map(abs, integers)) < 2**63
        return np.array(integers, np.int64 if fits else object), infinite
    try:
        array = array.astype(np.float64)
    except OverflowError:  # an integer that float64 does not hold
        return None
    array[infinite] = 0
    return array, infinite
