"""Other programs for energies of several labels on 2-D grids with 4 neighbours; none is needed to use cutmatch.

Each is run(problem, move, start) -> labels, until convergence, with move "expansion" or "swap".
"""

import numpy as np

from benchmarks.baselines import Baseline
from benchmarks.graph_instances import grid_edges


def gco(problem, move, start):
    """gco-wrapper around GCO 3.0 (research only); it takes the start pixel by pixel unless that is all zero."""
    for name, kind in (("int", int), ("float", float)):  # aliases numpy has dropped and the wrapper still reads
        if name not in np.__dict__:
            setattr(np, name, kind)
    from gco import pygco

    count, height, width = problem.unary.shape
    graph = pygco.GCO()
    graph.create_general_graph(height * width, count, False)
    graph.set_data_cost(np.ascontiguousarray(problem.unary.reshape(count, -1).T))
    right = np.broadcast_to(problem.weights[0, 1], (height, width))[:, :-1]
    down = np.broadcast_to(problem.weights[1, 0], (height, width))[:-1]
    near, far = grid_edges(height, width)
    graph.set_all_neighbors(near, far, np.concatenate([right.ravel(), down.ravel()]).astype(np.intc))
    graph.set_smooth_cost(np.ascontiguousarray(problem.cost))
    if start.any():
        for pixel, label in enumerate(start.ravel().tolist()):
            graph.init_label_at_site(pixel, label)
    (graph.swap if move == "swap" else graph.expansion)(-1)
    labels = graph.get_labels().reshape(height, width)
    graph.destroy_graph()
    return labels


def pymaxflow(problem, move, start):
    """PyMaxflow's fastmin: one weight for all edges, so only for problems with such."""
    from maxflow.fastmin import abswap_grid, aexpansion_grid

    (weight,) = {np.unique(w).item() for w in problem.weights.values()}
    unary = np.ascontiguousarray(np.moveaxis(problem.unary, 0, -1)).astype(np.int64)
    solve = abswap_grid if move == "swap" else aexpansion_grid
    return solve(unary, (weight * problem.cost).astype(np.int64), labels=start.astype(np.int64))


BASELINES = {
    "gco-wrapper": Baseline("gco", "gco-wrapper", gco),
    "PyMaxflow": Baseline("maxflow", "PyMaxflow", pymaxflow),
}


def fits(name, problem, move="expansion"):
    """Whether a baseline supports a problem and solves it in minutes: PyMaxflow scans all pixels for each pair."""
    if name != "PyMaxflow":
        return True
    return all(np.ptp(w) == 0 for w in problem.weights.values()) and (move == "expansion" or len(problem.unary) <= 32)
