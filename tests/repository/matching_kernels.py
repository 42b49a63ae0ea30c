"""The CUDA kernels of matching, with the types of their arguments, which tests compile without a device.

A function is named after the file of its kernels, and returns [(name, kernel, argument types), ...].
"""

from gridcut.device.cuda_types import float64, int8, int32, int64, types, uint32, uint64

IDS, LONGS = int32[::1], int64[::1]


def _matched_graph_type():
    """The type of a MatchedGraph."""
    from matching.core.problem_cuda import MatchedGraph

    ids, longs = int32[::1], int64[::1]
    return types.NamedTuple((longs, ids, longs, ids, ids, ids), MatchedGraph)


def device_graph_cuda():
    from matching.core.device_graph_cuda import read_kernel

    longs, own = int64[::1], (int64, int64, int64, int64[::1], int32[::1])
    return [
        (f"read {ptr} {adj}", read_kernel, (ptr[::1], int64, int64, adj[::1], int64, int64, *own, longs))
        for ptr in (int32, int64)
        for adj in (int32, int64)
    ]


def matching_cuda():
    from matching.core.matching_cuda import clear_kernel, count_kernel

    ids = int32[::1]
    return [("clear", clear_kernel, (ids, ids)), ("count", count_kernel, (ids, int64[::1]))]


def transpose_cuda():
    from matching.core.transpose_cuda import transpose_kernel

    ids, longs = int32[::1], int64[::1]
    return [("transpose", transpose_kernel, (longs, ids, longs, ids, longs, longs))]


def ms_bfs_graft_cuda():
    from matching.forest.ms_bfs_graft_cuda import Forest, graft_kernel

    ids = int32[::1]
    forest = types.NamedTuple((ids, ids, ids, ids, uint32[::1]), Forest)
    numbers = (float64, int32, int32, int32, int64)
    return [("graft", graft_kernel, (_matched_graph_type(), forest, ids, ids, ids, int64[::1], *numbers))]


def general_graph_cuda():
    from matching.general.general_graph_cuda import pick_kernel, survey_kernel

    ids, longs = int32[::1], int64[::1]
    listed = []
    for kind in (int64, float64):
        listed.append((f"survey {kind}", survey_kernel, (longs, ids, kind[::1], int32, kind, longs)))
        listed.append((f"pick {kind}", pick_kernel, (longs, ids, kind[::1], ids, kind[::1])))
    return listed


def parallel_cuda():
    from matching.general.parallel_cuda import rounds_kernel

    listed = []
    for name, kind in (("int64", int64), ("float64", float64)):
        types = (LONGS, IDS, kind[::1], IDS, int8[::1], IDS, IDS, LONGS, LONGS, int32, int64, uint64, int32)
        listed.append((f"rounds {name}", rounds_kernel, types))
    return listed


def cheap_cuda():
    from matching.initial.cheap_cuda import cheap_kernel

    ids, longs = int32[::1], int64[::1]
    return [("cheap", cheap_kernel, (longs, ids, ids, ids, longs, int32))]


def alternate_cuda():
    from matching.papers.alternate_cuda import alternate_kernel

    ids, longs = int32[::1], int64[::1]
    return [("alternate", alternate_kernel, (longs, ids, ids, ids, ids, ids, ids, longs, int32, int32))]


def g_pr_cuda():
    from matching.papers.g_pr_cuda import Labelled, first_kernel, lists_kernel

    ids, longs = int32[::1], int64[::1]
    graph = types.NamedTuple((longs, ids, longs, ids, ids, ids, ids, ids), Labelled)
    rest = (longs, longs, int32, float64, int32)
    return [("first", first_kernel, (graph, longs, int32, float64)), ("lists", lists_kernel, (graph, ids, ids, *rest))]
