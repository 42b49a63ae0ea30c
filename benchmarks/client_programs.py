"""Programs that other people's libraries make of assignments and cuts, for benchmarks/clients.py.

  python -m benchmarks.client_programs NAME theirs|ours SECONDS UNITS

One program of the table PROGRAMS, with its own library or with ours, does a number of units of work; with UNITS = 0, as
many as fit into SECONDS.  It prints units, result, and the seconds and calls of the functions that were replaced.  The
packages kamui, motmetrics, laptrack, stardist and pyomo are used as they are, of which one name is replaced as a
changed import would do; the other programs follow published methods.
"""

import json
import sys
import time
from types import SimpleNamespace

import numpy as np

spent = [0.0, 0]  # seconds and calls of what was replaced


def timed(function):
    """The function, with its time added to `spent`."""

    def call(*args, **keywords):
        start = time.perf_counter()
        try:
            return function(*args, **keywords)
        finally:
            spent[0] += time.perf_counter() - start
            spent[1] += 1

    return call


def assignment(is_ours):
    """SciPy's linear_sum_assignment, or ours."""
    if is_ours:
        from assign import linear_sum_assignment
    else:
        from scipy.optimize import linear_sum_assignment
    return timed(linear_sum_assignment)


def flow_module(is_ours):
    if is_ours:
        import gridcut.compat.maxflow as maxflow
    else:
        import maxflow
    return maxflow


def sort(is_ours, rng):
    """Tracking by overlaps, as Bewley and others 2016 (SORT): 20 boxes, constant velocity, lap's lapjv per frame."""
    if is_ours:
        from assign.compat import lap
    else:
        import lap
    lapjv = timed(lap.lapjv)

    def overlaps(a, b):
        low = np.maximum(a[:, None], b[None])
        sides = np.clip(np.minimum(a[:, None], b[None]) + 60 - low, 0, None).prod(-1)
        return sides / (7200 - sides)

    def unit():
        place, speed, tracks, total, number = rng.uniform(0, 1000, (20, 2)), rng.normal(0, 3, (20, 2)), {}, 0.0, 0
        for frame in range(100):
            place = (place + speed) % 1000
            seen = place[rng.random(20) < 0.9]
            boxes = np.concatenate((seen + rng.normal(0, 1, seen.shape), rng.uniform(0, 1000, (2, 2))))
            names = list(tracks)
            partner = np.full(len(boxes), -1)
            if names:
                expected = np.array([tracks[name][0] + tracks[name][1] for name in names])
                cost, partner, _ = lapjv(1 - overlaps(boxes, expected), extend_cost=True, cost_limit=0.7)
                total += cost
            for box, which in zip(boxes, partner.tolist(), strict=True):
                if which < 0:
                    tracks[number] = box, np.zeros(2), frame
                    number += 1
                else:
                    old, velocity, _ = tracks[names[which]]
                    tracks[names[which]] = box, 0.8 * velocity + 0.2 * (box - old), frame
            tracks = {name: track for name, track in tracks.items() if frame - track[2] <= 3}
        return total

    return unit


def detr(is_ours, rng):
    """The matcher of DETR (Carion and others 2020): 100 queries, 3 to 24 objects, L1, class and overlap costs."""
    from scipy.spatial.distance import cdist

    linear_sum_assignment = assignment(is_ours)

    def unit():
        total = 0.0
        for _ in range(100):
            objects = rng.integers(3, 25)
            queries, truth, classes = rng.random((100, 4)), rng.random((objects, 4)), rng.random((100, 91))
            classes /= classes.sum(1, keepdims=True)
            low = np.maximum(queries[:, None, :2], truth[None, :, :2])
            high = np.minimum(queries[:, None, :2] + queries[:, None, 2:], truth[None, :, :2] + truth[None, :, 2:])
            inside = np.clip(high - low, 0, None).prod(-1)
            union = queries[:, None, 2:].prod(-1) + truth[None, :, 2:].prod(-1) - inside
            cost = 5 * cdist(queries, truth, "cityblock") - 2 * inside / union
            cost -= classes[:, rng.integers(0, 91, objects)]
            total += cost[linear_sum_assignment(cost)].sum()
        return total

    return unit


def motmetrics(is_ours, rng):
    """py-motmetrics on 30 frames of 12 objects; its solver "lap"."""
    if is_ours:
        import assign.compat.lap as lap
    else:
        import lap
    lap.lapjv = timed(lap.lapjv)
    sys.modules["lap"] = lap
    import motmetrics

    def unit():
        frames = motmetrics.MOTAccumulator(auto_id=True)
        with motmetrics.lap.set_default_solver("lap"):
            for _ in range(30):
                truth = rng.uniform(0, 300, (12, 2))
                found = truth[rng.permutation(12)[:10]] + rng.normal(0, 3, (10, 2))
                distances = motmetrics.distances.norm2squared_matrix(truth, found, max_d2=400)
                frames.update(range(12), range(10), distances)
            summary = motmetrics.metrics.create().compute(frames, metrics=["mota", "motp", "idf1"], name="x")
        return float(summary.values.sum())

    return unit


def laptrack(is_ours, rng):
    """laptrack on 20 frames of 200 points, with gaps; SciPy's min_weight_full_bipartite_matching."""
    import pandas
    from laptrack import LapTrack, _optimization

    if is_ours:
        import assign

        _optimization.min_weight_full_bipartite_matching = assign.min_weight_full_bipartite_matching
    _optimization.min_weight_full_bipartite_matching = timed(_optimization.min_weight_full_bipartite_matching)
    tracker = LapTrack(cutoff=15**2, gap_closing_cutoff=15**2)

    def unit():
        place, rows = rng.uniform(0, 500, (200, 2)), []
        for frame in range(20):
            place = place + rng.normal(0, 3, place.shape)
            rows += [(frame, *point) for point in place[rng.random(200) < 0.95]]
        points = pandas.DataFrame(rows, columns=["frame", "x", "y"])
        tracks, _, _ = tracker.predict_dataframe(points, ["x", "y"], frame_col="frame")
        return float(tracks.track_id.nunique())

    return unit


def stardist(is_ours, rng):
    """stardist's scores of two segmentations with up to 900 objects, at 9 thresholds."""
    from skimage.measure import label
    from stardist import matching

    matching.linear_sum_assignment = assignment(is_ours)

    def unit():
        spots = np.zeros((600, 600), bool)
        spots[10::20, 10::20] = True
        masks = []
        for _ in range(2):
            mask = np.zeros(spots.shape, bool)
            for y, x in (np.argwhere(spots) + rng.integers(-3, 4, (900, 2))).tolist():
                mask[max(0, y - 6) : y + 6, max(0, x - 6) : x + 6] = True
            masks.append(label(mask))
        scores = matching.matching(*masks, thresh=np.arange(0.1, 1, 0.1))
        return sum(float(score.f1) for score in scores)

    return unit


def graph_matching(is_ours, rng):
    """SciPy's quadratic_assignment on 150 nodes (FAQ, Vogelstein and others 2015), and its assignments."""
    import scipy.optimize
    import scipy.optimize._qap as qap

    qap.linear_sum_assignment = assignment(is_ours)

    def unit():
        first, order = rng.random((150, 150)), rng.permutation(150)
        return float(scipy.optimize.quadratic_assignment(first, first[np.ix_(order, order)]).fun)

    return unit


def kamui(is_ours, rng):
    """kamui's phase unwrapping by graph cuts (PUMA) on 200 x 160 pixels; PyMaxflow's add_edges and add_tedge."""
    import kamui.core

    maxflow = flow_module(is_ours)
    graph = maxflow.GraphFloat
    timed_graph = type("Graph", (graph,), {name: _method(graph, name) for name in ("add_edges", "maxflow")})
    kamui.core.maxflow = SimpleNamespace(Graph={float: timed_graph})
    y, x = np.mgrid[:160, :200]

    def unit():
        phase = 12 * np.exp(-((x - 100) ** 2 + (y - 80) ** 2) / 3000) + rng.normal(0, 0.7, x.shape)
        wrapped = (phase + np.pi) % (2 * np.pi) - np.pi
        found = kamui.unwrap_dimensional(wrapped, method="gc")
        return float(np.abs(np.diff(found, axis=0)).sum() + np.abs(np.diff(found, axis=1)).sum())

    return unit


def _method(graph, name):
    method = timed(getattr(graph, name))
    return lambda self, *args: method(self, *args)


def edge_by_edge(is_ours, rng):
    """Restoration of 96 x 96 pixels with one call of add_edge for each pair and of get_segment for each pixel."""
    maxflow = flow_module(is_ours)
    side = 96

    def cut(image, right, down):
        graph = maxflow.Graph[float](side * side, 2 * side * side)
        graph.add_nodes(side * side)
        for y in range(side):
            for x in range(side):
                node = y * side + x
                graph.add_tedge(node, image[y][x], 1 - image[y][x])
                if x + 1 < side:
                    graph.add_edge(node, node + 1, right[y][x], right[y][x])
                if y + 1 < side:
                    graph.add_edge(node, node + side, down[y][x], down[y][x])
        value = graph.maxflow()
        return value + sum([graph.get_segment(node) for node in range(side * side)])

    cut = timed(cut)

    def unit():
        image = rng.random((side, side))
        right, down = (0.3 * np.exp(-np.abs(np.diff(image, axis=axis))) for axis in (1, 0))
        return cut(image.tolist(), right.tolist(), down.tolist())

    return unit


def pyomo(is_ours, rng):
    """pyomo's incidence analysis of 300 equations; matchings of networkx, ours as its backend."""
    import networkx
    import pyomo.environ as environment
    from networkx.algorithms import bipartite
    from pyomo.contrib.incidence_analysis import IncidenceGraphInterface

    if is_ours:
        networkx.config.backend_priority = ["cutmatch"]
    bipartite.maximum_matching = timed(bipartite.maximum_matching)

    def unit():
        model = environment.ConcreteModel()
        model.x = environment.Var(range(300), initialize=1.0)
        first, second = rng.integers(0, 300, (2, 300)).tolist()
        equations = [model.x[i] + model.x[first[i]] * model.x[second[i]] == 1 for i in range(300)]
        model.c = environment.Constraint(range(300), rule=dict(enumerate(equations)))
        found = IncidenceGraphInterface(model, include_inequality=False)
        return float(len(found.maximum_matching()) + len(found.dulmage_mendelsohn()[0].unmatched))

    return unit


def networks(is_ours, rng):
    """networkx's minimum_cut of 20 random networks with 250 nodes, ours as its backend."""
    import networkx

    backend = {"backend": "cutmatch"} if is_ours else {}
    minimum_cut = timed(networkx.minimum_cut)

    def unit():
        network = networkx.gnp_random_graph(250, 0.04, directed=True, seed=int(rng.integers(2**31)))
        for a, b, data in network.edges(data=True):
            data["capacity"] = (7 * a + b) % 13 + 1
        return float(sum(minimum_cut(network, 0, 249 - other, **backend)[0] for other in range(4)))

    return unit


PROGRAMS = {  # and the face that is used
    "sort": (sort, "lap"), "detr": (detr, "SciPy"), "motmetrics": (motmetrics, "lap"), "laptrack": (laptrack, "SciPy"),
    "stardist": (stardist, "SciPy"), "graph_matching": (graph_matching, "SciPy"), "kamui": (kamui, "PyMaxflow"),
    "edge_by_edge": (edge_by_edge, "PyMaxflow"), "pyomo": (pyomo, "networkx"), "networks": (networks, "networkx"),
}  # fmt: skip


def main(name, which, seconds, units):
    unit = PROGRAMS[name][0](which == "ours", np.random.default_rng(0))
    done, total, end = 0, 0.0, time.perf_counter() + float(seconds)
    while done < int(units) if int(units) else time.perf_counter() < end:
        total += unit()
        done += 1
    print(json.dumps({"units": done, "result": round(total, 4), "seconds": spent[0], "calls": spent[1]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
