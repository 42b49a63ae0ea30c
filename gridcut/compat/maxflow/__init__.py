"""The classes and functions of PyMaxflow, to be used by changing one import line.

    import maxflow    ->    import gridcut.compat.maxflow as maxflow

Values and segments are PyMaxflow's: a node is in segment 1 if it can still reach the sink, else in segment 0, and that
set is the same for every maximum flow.  Grids are recognised and go to `gridcut.max_flow`, other graphs to
`gridcut.graph_max_flow`.
"""

from types import SimpleNamespace

import numpy as np

from gridcut.compat.maxflow import fastmin
from gridcut.compat.maxflow.fastmin import abswap_grid, aexpansion_grid
from gridcut.compat.maxflow.flow_network import GraphFloat, GraphInt, moore_structure, vonNeumann_structure

__all__ = [
    "Graph",
    "GraphFloat",
    "GraphInt",
    "abswap_grid",
    "aexpansion_grid",
    "fastmin",
    "moore_structure",
    "np",
    "vonNeumann_structure",
]

__version__, __version_core__ = "1.3.2", (3, 0, 4)  # of PyMaxflow, and of the C++ code in it
version = SimpleNamespace(__version__=__version__, __version_core__=__version_core__)
Graph = {int: GraphInt, float: GraphFloat}
