"""The functions of gco-wrapper and pygco: `import gridcut.compat.gco as gco`, or `as pygco`.

    gco-wrapper   cut_grid_graph_simple, cut_grid_graph   grids: labels as one line, by default until convergence
                  cut_general_graph                       the same for the nodes of a graph
                  GCO                                     a graph with costs, whose labels are changed by moves
    pygco         cut_simple, cut_simple_vh               labels of the grid's shape, by default 5 cycles
                  cut_from_graph                          labels of the nodes of a graph, by default 5 cycles

The energy is the sum of `unary_cost[p][l_p]` over pixels or nodes, and of weight * `pairwise_cost[l_p, l_q]` over
edges.  On grids, the moves are followed by two restarts (see `gridcut.alpha_expansion`), so energies are rarely higher
than gco's.  Integers are exact, and floats are rounded far less than there.
"""

from gridcut.compat.gco.gco_class import (
    GCO,
    DataTypeNotSupportedError,
    IndexOutOfBoundError,
    PyGcoError,
    ShapeMismatchError,
)
from gridcut.compat.gco.gco_functions import (
    cut_from_graph,
    cut_general_graph,
    cut_grid_graph,
    cut_grid_graph_simple,
    cut_simple,
    cut_simple_vh,
)

__all__ = [
    "GCO",
    "DataTypeNotSupportedError",
    "IndexOutOfBoundError",
    "PyGcoError",
    "ShapeMismatchError",
    "cut_from_graph",
    "cut_general_graph",
    "cut_grid_graph",
    "cut_grid_graph_simple",
    "cut_simple",
    "cut_simple_vh",
]
