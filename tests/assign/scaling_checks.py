"""Properties of the networks of cost scaling, without the solvers' code."""

import numpy as np


def is_epsilon_optimal(network, low_x, low_y):
    """Whether c_p >= low on all residual edges, `low` by the side that an edge leaves; see scaling/refine.py."""
    nodes = np.repeat(np.arange(len(network.p)), np.diff(network.first))
    residual = (network.u_f == 1) & (np.arange(len(nodes)) < network.last[nodes])
    c_p = network.c + network.p[nodes] - network.p[network.head]
    return bool((c_p >= np.where(nodes < network.x_nodes, low_x, low_y))[residual].all())


def is_flow(network):
    """Whether no node has an excess or a deficit."""
    return not network.e.any()
