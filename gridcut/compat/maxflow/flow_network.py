"""GraphInt and GraphFloat: PyMaxflow's graphs, which collect nodes and arcs and are solved at once.

A grid is a graph whose nodes come from one call of add_grid_nodes with up to three axes, and whose arcs come from calls
of add_grid_edges with all of these nodes, without `periodic`.  Its arcs are kept as one array per offset.  All others
are kept as lists of arcs.

Edges added one at a time are packed (gridcut/compat/maxflow/packed_edges.py), by machine code
(gridcut/compat/maxflow/quick_methods.py).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gridcut.compat.maxflow.packed_edges import (
    SLOTS,
    append,
    columns,
    give_back,
    has_edges,
    no_edges,
    no_nodes,
    set_node_count,
    table,
    used_bytes,
)
from gridcut.compat.maxflow.solution import MIN_GRID, Arcs, drawn, solve_graph, solve_grid, solve_planes
from gridcut.compat.maxflow.structures import neighbours, offsets_of, vonNeumann_structure

__all__ = ["GraphFloat", "GraphInt"]

NOT_IN_GRAPH = "the node is not in the graph"
BAD_CAPACITY = "capacities between nodes must be 0 or more, and not NaN"


class _Network:
    """What both graphs share; `_dtype` is the type of their capacities.

    Arcs are added to `_arcs` in both directions; `_packed_edges` are those of add_edge, `_packed_terminals` those of
    add_tedge.
    """

    __slots__ = ("__dict__", "__weakref__", *SLOTS)

    _dtype: type = np.int64
    _cast: type = int  # floats are cut to integers by GraphInt, as by PyMaxflow
    _edge_form = "qqqq"  # two nodes and two capacities
    _terminals_form = "qqq"  # a node and two capacities

    def __init__(self, est_node_num: int = 0, est_edge_num: int = 0):
        """Make an empty graph; the estimates are accepted, without effect."""
        from gridcut.compat.maxflow.quick_methods import make_quick  # llvmlite, which the import does not need

        make_quick(type(self), self._dtype is np.float64)
        self.reset()

    def reset(self) -> None:
        """Remove all nodes and edges."""
        self._node_count = 0
        self._grid: tuple[int, ...] | None = None  # shape of the only call of add_grid_nodes
        self._grid_arcs: list[tuple[Any, Any, bool]] = []  # (offset, capacities, symmetric)
        self._arcs: list[Arcs] = []
        self._packed_edges = no_nodes()
        self._terminals: list[tuple] = []  # (nodes or None for the first ones, capacities from the source, to the sink)
        self._packed_terminals = no_nodes()  # the same for one node each
        self._shared: Any = 0  # capacity that flows from the source to the sink through one node
        self._labels = np.zeros(0, bool)  # of the last solution: True in segment 1
        self._segments = b""  # the same
        self._solution: Any = None  # or a Solution
        self._solved_bytes = 0  # of the packed edges of the solution

    def __del__(self, slots=SLOTS, give_back=give_back) -> None:  # globals may be gone
        give_back(*(getattr(self, name, None) for name in (slots[1], slots[0])))

    def copy(self) -> "_Network":
        """A copy with all nodes, edges and capacities, and the segments."""
        other = type(self)()
        for name in (*vars(self), *SLOTS):
            value = getattr(self, name)
            setattr(other, name, value.copy() if isinstance(value, list | bytearray) else value)
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
        set_node_count(self._packed_edges, self._node_count)
        set_node_count(self._packed_terminals, self._node_count)
        return np.arange(self._node_count - count, self._node_count)

    def _changed(self) -> None:
        self._solution = None

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
        number = self._cast
        try:
            tail, head, forward, back = int(i), int(j), number(capacity), number(rcapacity)
        except (TypeError, ValueError):
            raise TypeError("add_edge requires two node indices and two capacities") from None
        if not (0 <= tail < self._node_count and 0 <= head < self._node_count):
            which = "second" if 0 <= tail < self._node_count else "first"
            raise RuntimeError(f"cannot add an edge; the {which} node is not in the graph")
        if not (forward >= 0 and back >= 0):
            raise ValueError(BAD_CAPACITY)
        append(self._packed_edges, self._edge_form, tail, head, forward, back)

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
            node, source, sink = int(i), self._cast(cap_source), self._cast(cap_sink)
        except (TypeError, ValueError):
            raise TypeError("add_tedge requires a node index and two capacities") from None
        if not 0 <= node < self._node_count:
            raise RuntimeError(f"cannot add terminal edges; {NOT_IN_GRAPH}")
        append(self._packed_terminals, self._terminals_form, node, source, sink)

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
            if not (capacity >= 0).all():
                raise ValueError(BAD_CAPACITY)
            added.append((offset, capacity, bool(symmetric)))
        self._changed()
        if whole:
            self._grid_arcs.extend(added)
        else:
            self._arcs.extend([_arcs_along(nodes, *each, wraps) for each in added])

    def _is_whole_grid(self, nodes) -> bool:
        if self._grid is None or nodes.shape != self._grid or self._arcs or has_edges(self._packed_edges):
            return False
        return np.array_equal(nodes.ravel(), np.arange(self._node_count))

    def maxflow(self, reuse_trees: bool = False) -> float:
        """The value of the maximum flow, which is the capacity of the minimum cut; `reuse_trees` has no effect.

        A second call after changes solves the changed problem, as PyMaxflow does.
        """
        if has_edges(self._packed_edges):
            self._leave_grid()
        if not self._is_solved():
            source, sink, shared = self._net_terminals()
            if self._grid is not None:
                solution = solve_grid(self._grid, self._grid_arcs, source, sink)
            elif (image := self._image()) is not None:
                solution = solve_planes(*image, source, sink)
            else:
                solution = solve_graph(self._all_arcs(), source, sink)
            solution = solution._replace(value=solution.value + shared)
            self._solved_bytes = used_bytes(self._packed_edges)
            self._solution, self._labels = solution, solution.sink_side
            self._segments = solution.sink_side.tobytes()
        return self._dtype(self._solution.value).item()

    def _is_solved(self) -> bool:
        if self._solution is None or has_edges(self._packed_terminals):
            return False
        return used_bytes(self._packed_edges) == self._solved_bytes

    def _net_terminals(self) -> tuple[np.ndarray, np.ndarray, Any]:
        """Capacities from the source and to the sink, one of them 0 at each node, and the flow through both."""
        terminals: np.ndarray = np.zeros((2, self._node_count), self._dtype)
        source, sink = terminals
        singly = columns(self._terminals_form, table(self._packed_terminals, 3))
        for nodes, *added in (*self._terminals, singly):
            for terminal, capacity in zip(terminals, added, strict=True):
                if nodes is None:
                    terminal[: len(capacity)] += capacity
                else:
                    np.add.at(terminal, nodes, capacity)
        shared = np.minimum(source, sink)
        total = shared.sum()
        if not np.isfinite(total) and not np.isfinite(shared).all():
            node = int(np.flatnonzero(~np.isfinite(shared))[0])
            raise ValueError(f"node {node} has terminal capacities {source[node]} and {sink[node]}; one must be finite")
        source -= shared
        sink -= shared
        total += self._shared
        unused = self._packed_terminals
        self._terminals, self._packed_terminals, self._shared = [(None, *terminals)], no_edges(self._node_count), total
        give_back(unused)
        return source, sink, total

    def _image(self) -> tuple[tuple[int, int], dict] | None:
        """Shape and edges of the image that the arcs are, if they are one; packed edges are not copied."""
        arcs = self._all_arcs() if self._arcs else self._packed_arcs()
        if not MIN_GRID <= self._node_count <= len(arcs.tail):
            return None
        from gridcut.compat.maxflow.numbered_grid import numbered_grid

        return numbered_grid(self._node_count, arcs)

    def _packed_arcs(self) -> Arcs:
        return Arcs(*columns(self._edge_form, table(self._packed_edges, 4)))

    def _all_arcs(self) -> Arcs:
        """All arcs in one list, for each edge one."""
        if has_edges(self._packed_edges) or len(self._arcs) != 1:
            rows = table(self._packed_edges, 4)
            kept = rows[:, 0] != rows[:, 1]
            rows = rows.copy(order="F") if kept.all() else np.asfortranarray(rows[kept])
            singly = Arcs(*columns(self._edge_form, rows))
            arcs = Arcs(*map(np.concatenate, zip(*self._arcs, singly, strict=True))) if self._arcs else singly
            unused = self._packed_edges
            self._arcs, self._packed_edges = [arcs], no_edges(self._node_count)
            give_back(unused)
        return self._arcs[0]

    def get_segment(self, i: int) -> int:
        """The segment of a node after `maxflow`: 0 on the source side, 1 on the sink side."""
        try:
            node = int(i)
        except (TypeError, ValueError):
            raise TypeError("an integer is required") from None
        if not 0 <= node < self._node_count:
            raise RuntimeError(f"cannot get the segment of the node; {NOT_IN_GRAPH}")
        return self._segments[node] if node < len(self._segments) else 0

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
        tail, head, *_ = self._packed_arcs()
        edges = int(np.count_nonzero(tail != head)) + sum(len(arcs.tail) for arcs in self._arcs)
        if self._grid is not None:
            edges += sum(_pairs(self._grid, offset) for offset, *_ in self._grid_arcs)
        return 2 * edges

    _add_edge, _add_tedge, _get_segment = add_edge, add_tedge, get_segment  # what quick_methods.py replaces
    get_node_num = get_node_count
    get_edge_num = get_edge_count

    def mark_node(self, i: int) -> None:
        """Accepted, without effect, as is `reuse_trees`."""

    def mark_grid_nodes(self, nodeids: np.ndarray) -> None:
        """Accepted, without effect, as is `reuse_trees`."""

    def get_nx_graph(self) -> Any:
        """A networkx.DiGraph of the residual capacities (attribute "weight"), with the nodes "s" and "t".

        Before `maxflow`, these are the capacities.  It is slow, and only for debugging.
        """
        is_solved = self._is_solved()
        source, sink, _ = self._net_terminals()
        state = self.copy()
        state._leave_grid()
        labels = self.get_grid_segments(np.arange(self._node_count))
        return drawn(state._all_arcs(), source, sink, labels, is_solved)

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
    _cast = float
    _edge_form, _terminals_form = "qqdd", "qdd"


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
