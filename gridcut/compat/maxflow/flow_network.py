"""GraphInt and GraphFloat: PyMaxflow's graphs, which collect nodes and arcs and are solved at once.

A grid is a graph whose nodes come from one call of add_grid_nodes with up to three axes, and whose arcs come from calls
of add_grid_edges with all of these nodes, without `periodic`.  Its arcs are kept as one array per offset.  All others
are kept as lists of arcs.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gridcut.device.arguments import INT64_MAX

# Structures: arrays with odd sides that give the neighbours of a pixel, which is in the middle, and their factors.

Offset = tuple[int, ...]


def vonNeumann_structure(ndim: int = 2, directed: bool = False) -> np.ndarray:
    """The structure of the direct neighbours, int64 (3, ...); of the half of them that come later, if `directed`."""
    return _structure(ndim, directed, lambda offset: sum(map(abs, offset)) == 1)


def moore_structure(ndim: int = 2, directed: bool = False) -> np.ndarray:
    """The structure of all neighbours, int64 (3, ...); of the half of them that come later, if `directed`."""
    return _structure(ndim, directed, any)


def _structure(ndim, directed, is_neighbour) -> np.ndarray:
    structure = np.zeros((3,) * ndim, np.int64)
    for index in np.ndindex(structure.shape):
        offset = tuple(part - 1 for part in index)
        structure[index] = is_neighbour(offset) and (not directed or offset > (0,) * ndim)
    return structure


def offsets_of(structure: np.ndarray, axes: int) -> Iterator[tuple[Offset, float]]:
    """The neighbours of a structure and their factors; a structure with fewer axes than the grid is of the last ones.

    Raises ValueError for too many axes, and RuntimeError, as PyMaxflow does, for an even side.
    """
    if structure.ndim > axes:
        raise ValueError(f"structure must have at most {axes} axes, as nodeids has, got {structure.ndim}")
    if any(side % 2 == 0 for side in structure.shape):
        raise RuntimeError(f"structure must have odd sides, got shape {structure.shape}")
    structure = structure.reshape((1,) * (axes - structure.ndim) + structure.shape)
    for index in zip(*np.nonzero(structure), strict=True):
        offset = tuple(int(part) - side // 2 for part, side in zip(index, structure.shape, strict=True))
        if any(offset):
            yield offset, structure[index].item()


def neighbours(shape, offset: Offset, periodic) -> tuple[tuple, tuple]:
    """Index arrays, one per axis, of the pixels that have a neighbour at this offset, and of those neighbours."""
    here, there = [], []
    for size, step, wraps in zip(shape, offset, periodic, strict=True):
        pixels = np.arange(size)
        if wraps:
            here.append(pixels)
            there.append((pixels + step) % max(size, 1))
        else:
            pixels = pixels[(pixels + step >= 0) & (pixels + step < size)]
            here.append(pixels)
            there.append(pixels + step)
    return np.ix_(*here), np.ix_(*there)


# From the arcs of a graph to a minimum cut: grids by `gridcut.max_flow`, all others by `gridcut.graph_max_flow`.
#
# Each function imports its solver, with kernels that the other one does not need.  Both return the value of the
# maximum flow, and the nodes that can still reach the sink, bool (n,).


class Arcs(NamedTuple):
    """Edges (tail, head), with their capacity in either direction."""

    tail: np.ndarray
    head: np.ndarray
    forward: np.ndarray
    back: np.ndarray


def solve_grid(shape: tuple[int, ...], arcs: list, source: np.ndarray, sink: np.ndarray) -> tuple[Any, np.ndarray]:
    """Solve a grid with arcs (offset, capacities, symmetric); the capacities may be scalars."""
    from gridcut.maximum_flow import max_flow

    most, source, sink, edges = _clamped(source.reshape(shape), sink.reshape(shape), _edges(shape, arcs))
    cut = max_flow(source, sink, edges, device="cpu")
    if most is not None and cut.value >= most:
        raise ValueError(f"the capacities are too large: every cut costs {most} or more; use GraphFloat")
    return cut.value, ~cut.labels.ravel()


def solve_graph(arcs: Arcs, source: np.ndarray, sink: np.ndarray) -> tuple[Any, np.ndarray]:
    """Solve any graph."""
    from gridcut.graph.graph_flow import graph_max_flow
    from gridcut.graph.graph_problem import edge_lists

    n = len(source)
    cut = graph_max_flow((*edge_lists(n, *arcs), (n, n)), source, sink, device="cpu")
    return cut.value, ~cut.labels


def _clamped(source: np.ndarray, sink: np.ndarray, edges: dict) -> tuple:
    """Integers so small that `max_flow` can sum them, and the largest; None: those given."""
    largest = [int(np.max(one, initial=0)) for one in (source, sink, *edges.values()) if one.dtype.kind == "i"]
    if 2 * sum(largest) <= INT64_MAX:
        return None, source, sink, edges
    most = INT64_MAX // (2 * len(largest))
    clamped = {offset: np.minimum(one, most) for offset, one in edges.items()}
    return most, np.minimum(source, most), np.minimum(sink, most), clamped


def _sum(one, other):
    """The sum of capacities; of integers, at most INT64_MAX."""
    total = np.asarray(one) + np.asarray(other)
    return np.where(total < one, INT64_MAX, total) if total.dtype.kind == "i" else total


def _edges(shape: tuple[int, ...], arcs: list) -> dict:
    """The edges for `max_flow`, each offset with its opposite, which would else have the same capacity."""
    edges: dict = {}
    for offset, capacity, symmetric in arcs:
        opposite = _opposite(offset)
        back = _moved(capacity, shape, opposite) if symmetric else np.int64(0)
        for key, one in ((offset, capacity), (opposite, back)):
            edges[key] = _sum(edges[key], one) if key in edges else one
    edges = {offset: np.broadcast_to(one, shape) if np.ndim(one) else one for offset, one in edges.items()}
    return edges or {(*(0,) * (len(shape) - 1), 1): np.int64(0)}


def _opposite(offset) -> tuple[int, ...]:
    return tuple(-step for step in offset)


def _moved(capacity, shape, step) -> Any:
    """Capacities of which that of p + step is at p, 0 outside of the grid."""
    if np.ndim(capacity) == 0:
        return capacity
    moved = np.zeros(shape, capacity.dtype)
    here = tuple(slice(max(0, -part), size - max(0, part)) for part, size in zip(step, shape, strict=True))
    there = tuple(slice(max(0, part), size - max(0, -part)) for part, size in zip(step, shape, strict=True))
    moved[here] = np.broadcast_to(capacity, shape)[there]
    return moved


__all__ = ["GraphFloat", "GraphInt"]

NOT_IN_GRAPH = "the node is not in the graph"
BAD_CAPACITY = "capacities between nodes must be 0 or more, and not NaN"


def int64(capacity: Any) -> int:
    """A capacity of GraphInt; floats are cut to integers, as by PyMaxflow."""
    try:
        number = int(capacity)
    except OverflowError:  # of an infinite float
        number = INT64_MAX + 1
    if not -INT64_MAX - 1 <= number <= INT64_MAX:
        raise OverflowError(f"capacities of GraphInt must fit int64, got {capacity}; use GraphFloat for larger ones")
    return number


class _Network:
    """What both graphs share; `_dtype` is the type of their capacities, and `_number` makes one of an argument.

    Arcs are added to `_arcs` in both directions; `_edges` are those of add_edge, four numbers each, and `_tedges` the
    terminals of add_tedge, three numbers each.
    """

    _dtype: type = np.int64
    _number: Callable[[Any], float] = staticmethod(int64)

    def __init__(self, est_node_num: int = 0, est_edge_num: int = 0):
        """Make an empty graph; the estimates are accepted, without effect."""
        self.reset()

    def reset(self) -> None:
        """Remove all nodes and edges."""
        self._node_count = 0
        self._grid: tuple[int, ...] | None = None  # shape of the only call of add_grid_nodes
        self._grid_arcs: list[tuple[Any, Any, bool]] = []  # (offset, capacities, symmetric)
        self._arcs: list[Arcs] = []
        self._edges: list[float] = []
        self._terminals: list[tuple] = []  # (nodes or None for the first ones, capacities from the source, to the sink)
        self._tedges: list[float] = []
        self._shared: Any = 0  # capacity that flows from the source to the sink through one node
        self._labels = np.zeros(0, bool)  # of the last solution: True in segment 1
        self._value: Any = None  # of the flow; None: not solved

    def copy(self) -> "_Network":
        """A copy with all nodes, edges and capacities, and the segments."""
        other = type(self)()
        for name, value in vars(self).items():
            setattr(other, name, value.copy() if isinstance(value, list) else value)
        return other

    __copy__ = copy  # without it, copy.copy would share the lists

    def add_nodes(self, num_nodes: int) -> np.ndarray:
        """Add nodes; their numbers, int64 (num_nodes,)."""
        count = int(num_nodes)
        if count < 0:
            raise ValueError(f"num_nodes must be 0 or more, got {num_nodes}")
        self._leave_grid()
        return self._added(count)

    def add_grid_nodes(self, shape: Any) -> np.ndarray:
        """Add the nodes of a grid; their numbers, int64, in an array of this shape."""
        sides = (shape,) if np.ndim(shape) == 0 else tuple(shape)
        if not all(isinstance(side, int | np.integer) for side in sides):
            raise TypeError(f"shape must hold integers, got {shape!r}")
        if min(sides, default=0) < 0:
            raise ValueError(f"shape must not be negative, got {shape!r}")
        if self._node_count == 0 and 1 <= len(sides) <= 3 and 0 not in sides:
            self._grid = tuple(map(int, sides))
        else:
            self._leave_grid()
        return self._added(int(np.prod(sides, dtype=np.int64))).reshape(sides)

    def _added(self, count: int) -> np.ndarray:
        self._changed()
        self._node_count += count
        return np.arange(self._node_count - count, self._node_count)

    def _changed(self) -> None:
        self._value = None

    def _leave_grid(self) -> None:
        """Convert the arcs of a grid to a list."""
        if self._grid is None:
            return
        nodes = np.arange(self._node_count).reshape(self._grid)
        inside = (False,) * nodes.ndim
        arcs = [_arcs_along(nodes, *each, inside) for each in self._grid_arcs]
        self._grid, self._grid_arcs, self._arcs = None, [], [*self._arcs, *arcs]

    def add_edge(self, i: int, j: int, capacity: float, rcapacity: float) -> None:
        """Add an edge from node i to node j with `capacity`, and `rcapacity` in reverse."""
        number = self._number
        try:
            tail, head, forward, back = int(i), int(j), number(capacity), number(rcapacity)
        except (TypeError, ValueError):
            given = f"{i!r}, {j!r}, {capacity!r}, {rcapacity!r}"
            raise TypeError(f"add_edge requires two node indices and two capacities, got {given}") from None
        if not (0 <= tail < self._node_count and 0 <= head < self._node_count):
            which = "second" if 0 <= tail < self._node_count else "first"
            raise RuntimeError(f"cannot add an edge; the {which} node is not in the graph")
        if not (forward >= 0 and back >= 0):
            raise ValueError(f"{BAD_CAPACITY}; got {capacity!r} and {rcapacity!r}")
        self._changed()
        if tail != head:
            self._edges.extend((tail, head, forward, back))

    def add_edges(self, i: ArrayLike, j: ArrayLike, capacity: ArrayLike, rev_capacity: ArrayLike) -> None:
        """Add many edges, given by four arrays of one axis."""
        tail, head = _nodes(i), _nodes(j)
        if tail.ndim != 1 or tail.shape != head.shape:
            raise ValueError(f"i and j must be vectors of the same length, got shapes {tail.shape} and {head.shape}")
        forward, back = (np.broadcast_to(self._array(one), tail.shape) for one in (capacity, rev_capacity))
        self._leave_grid()
        for which, ends in (("first", tail), ("second", head)):
            if ends.size and not 0 <= ends.min() <= ends.max() < self._node_count:
                raise RuntimeError(f"cannot add an edge; the {which} node is not in the graph")
        if not ((forward >= 0).all() and (back >= 0).all()):
            raise ValueError(BAD_CAPACITY)
        self._changed()
        kept = tail != head
        self._arcs.append(Arcs(tail[kept], head[kept], forward[kept], back[kept]))

    def add_tedge(self, i: int, cap_source: float, cap_sink: float) -> None:
        """Add to the capacities from the source to node i, and from node i to the sink; they may be negative."""
        try:
            node, source, sink = int(i), self._number(cap_source), self._number(cap_sink)
        except (TypeError, ValueError):
            given = f"{i!r}, {cap_source!r}, {cap_sink!r}"
            raise TypeError(f"add_tedge requires a node index and two capacities, got {given}") from None
        if not 0 <= node < self._node_count:
            raise RuntimeError(f"cannot add terminal edges; {NOT_IN_GRAPH}")
        self._changed()
        self._tedges.extend((node, source, sink))

    def add_grid_tedges(self, nodeids: np.ndarray, sourcecaps: ArrayLike, sinkcaps: ArrayLike) -> None:
        """The same for many nodes; the capacities are broadcast to the shape of `nodeids`."""
        nodes = _id_array(nodeids)
        source, sink = (np.broadcast_to(self._array(one), nodes.shape).ravel() for one in (sourcecaps, sinkcaps))
        whole = self._is_whole_grid(nodes)
        flat = nodes.ravel()
        if not whole:
            kept = flat >= 0
            if not kept.all():
                flat, source, sink = flat[kept], source[kept], sink[kept]
            if flat.size and flat.max() >= self._node_count:
                raise RuntimeError(f"cannot add terminal edges; {NOT_IN_GRAPH}")
        self._changed()
        self._terminals.append((None if whole else flat.copy(), source.copy(), sink.copy()))

    def add_grid_edges(
        self,
        nodeids: np.ndarray,
        weights: ArrayLike = 1,
        structure: ArrayLike | None = None,
        symmetric: bool = False,
        periodic: Any = False,
    ) -> None:
        """Add the edges of a grid.

        Parameters
        ----------
        nodeids : ndarray of int
            Numbers of the nodes; negative ones are left out.
        weights : array_like, default 1
            Capacities, broadcast to the shape of `nodeids`.
        structure : array_like, optional
            For each neighbour of a node, which is in the middle, the factor of its weight; 0 for no edge.  Default:
            `vonNeumann_structure` with ``directed=symmetric``.
        symmetric : bool, default False
            If True, add every edge in both directions.
        periodic : bool, or one bool per axis, default False
            Whether nodes at a side are neighbours of those at the opposite side.

        Raises
        ------
        RuntimeError
            If a node is not in the graph, or the structure has an even side.
        ValueError
            If shapes do not fit, or a capacity is negative or NaN.
        """
        nodes = _id_array(nodeids)
        factors = vonNeumann_structure(nodes.ndim, bool(symmetric)) if structure is None else self._array(structure)
        weight = self._array(weights)
        if np.broadcast_shapes(weight.shape, nodes.shape) != nodes.shape:
            raise ValueError(f"weights must be broadcastable to shape {nodes.shape}, got shape {weight.shape}")
        wraps = (bool(periodic),) * nodes.ndim if np.ndim(periodic) == 0 else tuple(map(bool, periodic))
        if len(wraps) != nodes.ndim:
            raise RuntimeError(f"periodic must be one bool, or one per axis, {nodes.ndim}, got {len(wraps)}")
        whole = not any(wraps) and self._is_whole_grid(nodes)
        if not whole:
            self._leave_grid()
            if nodes.size and nodes.max() >= self._node_count:
                raise RuntimeError("cannot add an edge; the second node is not in the graph")
        added = []
        for offset, factor in offsets_of(factors, nodes.ndim):
            with np.errstate(invalid="ignore"):
                capacity = weight * self._dtype(factor)
            if self._dtype is np.int64:
                int64(max(int(weight.max(initial=0)), -int(weight.min(initial=0))) * int(factor))
            if not (capacity >= 0).all():
                raise ValueError(BAD_CAPACITY)
            added.append((offset, capacity, bool(symmetric)))
        self._changed()
        if whole:
            self._grid_arcs.extend(added)
        else:
            self._arcs.extend([_arcs_along(nodes, *each, wraps) for each in added])

    def _is_whole_grid(self, nodes) -> bool:
        if self._grid is None or nodes.shape != self._grid or self._arcs or self._edges:
            return False
        return np.array_equal(nodes.ravel(), np.arange(self._node_count))

    def maxflow(self, reuse_trees: bool = False) -> float:
        """The value of the maximum flow, which is the capacity of the minimum cut; `reuse_trees` has no effect.

        A second call after changes solves the changed problem, as PyMaxflow does.
        """
        if self._edges:
            self._leave_grid()
        if self._value is None:
            source, sink, shared = self._net_terminals()
            if self._grid is not None:
                value, labels = solve_grid(self._grid, self._grid_arcs, source, sink)
            else:
                value, labels = solve_graph(self._all_arcs(), source, sink)
            self._value, self._labels = value + shared, labels
        return float(self._value) if self._dtype is np.float64 else int(self._value)

    def _net_terminals(self) -> tuple[np.ndarray, np.ndarray, Any]:
        """Capacities from the source and to the sink, one of them 0 at each node, and the flow through both."""
        parts = *self._terminals, self._columns(self._tedges, 3)
        # Sums that int64 might not hold are made of Python's integers.
        is_large = self._dtype is np.int64 and sum(map(_bound, (one for _, *both in parts for one in both))) >= 2.0**62
        terminals: np.ndarray = np.zeros((2, self._node_count), object if is_large else self._dtype)
        source, sink = terminals
        for nodes, *added in parts:
            for terminal, capacity in zip(terminals, added, strict=True):
                capacity = capacity.astype(terminal.dtype, copy=False)
                if nodes is None:
                    terminal[: len(capacity)] += capacity
                else:
                    np.add.at(terminal, nodes, capacity)
        shared = np.minimum(source, sink)
        total = shared.sum()
        if self._dtype is np.float64 and not np.isfinite(total) and not np.isfinite(shared).all():
            node = int(np.flatnonzero(~np.isfinite(shared))[0])
            raise ValueError(f"node {node} has terminal capacities {source[node]} and {sink[node]}; one must be finite")
        source -= shared
        sink -= shared
        total = self._shared + (float(total) if self._dtype is np.float64 else int(total))
        self._terminals, self._tedges, self._shared = [(None, *terminals)], [], total
        if is_large:
            source, sink = (np.minimum(one, INT64_MAX).astype(np.int64) for one in terminals)
        return source, sink, total

    def _all_arcs(self) -> Arcs:
        """All arcs in one list, for each edge one."""
        if self._edges or len(self._arcs) != 1:
            arcs = Arcs(*map(np.concatenate, zip(*self._arcs, Arcs(*self._columns(self._edges, 4)), strict=True)))
            self._arcs, self._edges = [arcs], []
        return self._arcs[0]

    def _columns(self, numbers: list[float], width: int) -> list[np.ndarray]:
        """The columns of a table of numbers: nodes as int64, and the last two, which are capacities."""
        columns: list[np.ndarray] = list(np.array(numbers, self._dtype).reshape(-1, width).T)
        return [*(nodes.astype(np.int64) for nodes in columns[:-2]), *columns[-2:]]

    def get_segment(self, i: int) -> int:
        """The segment of a node after `maxflow`: 0 on the source side, 1 on the sink side."""
        try:
            node = int(i)
        except (TypeError, ValueError):
            raise TypeError("an integer is required") from None
        if not 0 <= node < self._node_count:
            raise RuntimeError(f"cannot get the segment of the node; {NOT_IN_GRAPH}")
        return int(self._labels[node]) if node < len(self._labels) else 0

    def get_grid_segments(self, nodeids: np.ndarray) -> np.ndarray:
        """The segments of many nodes: bool, True on the sink side, in an array of the shape of `nodeids`."""
        nodes = _id_array(nodeids)
        labels = self._labels
        if len(labels) < self._node_count:  # nodes that were added after the solution are free
            labels = np.concatenate((labels, np.zeros(self._node_count - len(labels), bool)))
        try:
            if not nodes.size or nodes.min() >= 0:
                return labels[nodes]
        except IndexError:
            pass
        raise RuntimeError(f"cannot get the segment of the node; {NOT_IN_GRAPH}")

    def get_node_count(self) -> int:
        """Number of nodes, without source and sink."""
        return self._node_count

    def get_edge_count(self) -> int:
        """Number of directed edges between nodes: two for each edge that was added."""
        edges = len(self._edges) // 4 + sum(len(arcs.tail) for arcs in self._arcs)
        if self._grid is not None:
            edges += sum(_pairs(self._grid, offset) for offset, *_ in self._grid_arcs)
        return 2 * edges

    get_node_num = get_node_count
    get_edge_num = get_edge_count

    def mark_node(self, i: int) -> None:
        """Accepted, without effect, as is `reuse_trees`."""

    def mark_grid_nodes(self, nodeids: np.ndarray) -> None:
        """Accepted, without effect, as is `reuse_trees`."""

    def _array(self, values) -> np.ndarray:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"capacities must be numbers, got dtype {array.dtype}")
        if array.dtype.kind == "f" and self._dtype is np.int64 and not np.isfinite(array).all():
            raise ValueError("capacities of GraphInt must be finite; use GraphFloat for infinite ones")
        return array.astype(self._dtype)


class GraphInt(_Network):
    """A graph with integer capacities, as PyMaxflow's `GraphInt` or ``Graph[int]``; int64, exact.

    Examples
    --------
    >>> import gridcut.compat.maxflow as maxflow
    >>> g = maxflow.Graph[int](2, 2)
    >>> nodes = g.add_nodes(2)
    >>> g.add_edge(nodes[0], nodes[1], 1, 2)
    >>> g.add_tedge(nodes[0], 2, 5)
    >>> g.add_tedge(nodes[1], 9, 4)
    >>> g.maxflow(), g.get_grid_segments(nodes)
    (8, array([ True, False]))
    """


class GraphFloat(_Network):
    """A graph with float capacities, as PyMaxflow's `GraphFloat` or ``Graph[float]``; they may be infinite."""

    _dtype = np.float64
    _number = staticmethod(float)


def _bound(capacity: np.ndarray) -> float:
    """At least the sum of the absolute values."""
    return max(float(capacity.max(initial=0)), -float(capacity.min(initial=0))) * len(capacity)


def _id_array(nodeids) -> np.ndarray:
    if not isinstance(nodeids, np.ndarray):
        raise TypeError(f"Argument 'nodeids' has incorrect type (expected numpy.ndarray, got {type(nodeids).__name__})")
    return _nodes(nodeids)


def _nodes(numbers) -> np.ndarray:
    array = np.asarray(numbers)
    if array.dtype.kind not in "iuf" and array.size:
        raise TypeError(f"node indices must be integers, got dtype {array.dtype}")
    return array.astype(np.int64, copy=False)


def _arcs_along(nodes, offset, capacity, symmetric, wraps) -> Arcs:
    """The arcs from all nodes of a grid, except for negative ones, to those at an offset."""
    here, there = neighbours(nodes.shape, offset, wraps)
    tail, head = nodes[here].ravel(), nodes[there].ravel()
    forward = np.broadcast_to(capacity, nodes.shape)[here].ravel()
    kept = (tail >= 0) & (head >= 0) & (tail != head)
    if not kept.all():
        tail, head, forward = tail[kept], head[kept], forward[kept]
    return Arcs(tail, head, forward, forward if symmetric else np.zeros_like(forward))


def _pairs(shape, offset) -> int:
    return int(np.prod([max(0, size - abs(step)) for size, step in zip(shape, offset, strict=True)], dtype=np.int64))
