"""thinmaxflow's graphs, which slgbuilder builds: `import gridcut.compat.thinmaxflow as thinmaxflow`.

They are PyMaxflow's graphs (gridcut/compat/maxflow/) with the names of Kolmogorov's C++ class.  A node that can reach
neither terminal is in the segment SOURCE; `what_segment` accepts no other default.
"""

from enum import IntEnum

from gridcut.compat.maxflow import flow_network

__all__ = ["SINK", "SOURCE", "GraphDouble", "GraphFloat", "GraphInt", "GraphShort", "TermType"]


class TermType(IntEnum):
    """The segments."""

    SOURCE = 0
    SINK = 1


SOURCE, SINK = TermType


class _Graph(flow_network._Network):
    add_tweights = flow_network._Network.add_tedge
    what_segment = flow_network._Network.get_segment
    get_arc_num = flow_network._Network.get_edge_count

    def add_node(self, num: int = 1) -> int:
        """Add nodes; the number of the first one."""
        return int(self.add_nodes(num)[0])


class GraphInt(_Graph, flow_network.GraphInt):
    """A graph with integer capacities.

    Examples
    --------
    >>> from gridcut.compat.thinmaxflow import SINK, GraphInt
    >>> graph = GraphInt()
    >>> first = graph.add_node(2)
    >>> graph.add_edge(first, first + 1, 1, 2)
    >>> graph.add_tweights(first, 2, 5)
    >>> graph.add_tweights(first + 1, 9, 4)
    >>> graph.maxflow(), graph.what_segment(first) == SINK
    (8, True)
    """


class GraphDouble(_Graph, flow_network.GraphFloat):
    """A graph with float capacities."""


GraphShort, GraphFloat = GraphInt, GraphDouble
