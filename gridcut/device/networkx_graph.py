"""The interface of networkx's graphs, by which they are recognised; networkx itself is not imported.

Subclasses and graphs of other libraries with the same interface are accepted, too.
"""

from typing import Any, Protocol, TypeGuard


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
