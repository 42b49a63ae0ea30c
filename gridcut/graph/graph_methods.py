"""The methods of `graph_max_flow` by name, and the rule behind ``method="auto"``.

The functions here import their solvers when they are called, so that importing gridcut imports no kernels.
"""

from collections.abc import Callable
from typing import NamedTuple

from gridcut.methods import check_parameters


class GraphMethod(NamedTuple):
    """One method: ``solve(graph, **parameters)`` changes a ResidualGraph in place; returns the sink side and stats."""

    solve: Callable
    parameters: tuple[str, ...] = ()


def _ibfs(graph):
    from gridcut.graph.graph_ibfs import solve

    return solve(graph)


METHODS = {"ibfs": GraphMethod(_ibfs)}


def choose(method, parameters: dict) -> str:
    """The name of a method; raises TypeError or ValueError for an unknown method or parameter."""
    if not isinstance(method, str):
        raise TypeError(f"method must be a name, got {type(method).__name__}")
    if method != "auto" and method not in METHODS:
        known = ", ".join(repr(name) for name in ("auto", *METHODS))
        raise ValueError(f"method must be one of {known}; got {method!r}")
    name = "ibfs" if method == "auto" else method
    check_parameters(method, METHODS[name].parameters, parameters)
    return name
