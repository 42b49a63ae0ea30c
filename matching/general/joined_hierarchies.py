"""joined_hierarchies: the hierarchies of the parts of a graph, and of what they leave, as one hierarchy.

    parts     0 --- 1      2 --- 3          each coarsened by itself, without the edges between them
    rest        {0, 1} --- {2, 3}           their last levels with the edges between them, coarsened further

Level i of the result contains level i of every part, one part after the other; the levels of the rest follow.  The
vertices of a part are consecutive in the graph, so the coarse vertices stay numbered in the order of their lowest ones.
A part is coarsened in a fraction of the memory of the graph, and several parts may be coarsened concurrently.
"""

import numpy as np

from matching.general.coarse_graph import CoarseGraph, Hierarchy

NO_MERGES = (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float64))


def joined_hierarchies(parts: list[Hierarchy], levels: int, rest: Hierarchy) -> Hierarchy:
    """Join the hierarchies of the parts of a graph and the hierarchy of the rest; no graph but the last is kept.

    parts    of the vertices 0 to n_0 - 1, n_0 to n_0 + n_1 - 1, ...; made with ``hierarchy(..., graphs=False)``; the
             list is emptied, so that no array is kept twice for longer than a level
    levels   number of levels of the parts; one with fewer has nothing left to merge
    rest     of the graph whose vertices are those of the parts' last levels, one part after the other; one level or
             more, also made with ``graphs=False``
    """
    counts = [[*part.vertex_counts, *[part.vertex_counts[-1]] * (levels - len(part.levels))] for part in parts]
    starts = np.concatenate([np.zeros((1, levels + 1), np.int64), np.cumsum(counts, axis=0)])
    seconds = _added([part.stats["seconds"] for part in (*parts, rest)])
    stacks = [_levels(part, levels)[::-1] for part in parts]
    parts.clear()
    joined, merges = [], []
    for i in range(levels):
        taken = [stack.pop() for stack in stacks]
        labels = np.concatenate([one[0] + np.int32(first) for one, first in zip(taken, starts[:, i + 1], strict=False)])
        weights = np.concatenate([one[1] for one in taken])
        child, into = (
            np.concatenate([one[end] + np.int32(first) for one, first in zip(taken, starts[:, i], strict=False)])
            for end in (2, 3)
        )
        rate = np.concatenate([one[4] for one in taken])
        joined.append(CoarseGraph(None, labels, weights, None, (child, into)))
        merges.append((child, into, rate))
    return Hierarchy(
        (*joined, *rest.levels),
        (*starts[-1, :levels].tolist(), *rest.vertex_counts),
        {"seconds": seconds},
        (*merges, *rest._merges),
    )


def _levels(part: Hierarchy, levels: int) -> list[tuple]:
    """Labels, vertex weights, child, into and rate of `levels` levels of a part; those past its last merge nothing."""
    found = [
        (level.labels, level.vertex_weight, *merges) for level, merges in zip(part.levels, part._merges, strict=True)
    ]
    n = part.vertex_counts[-1]
    weight = part.levels[-1].vertex_weight if part.levels else np.ones(n, np.int64)
    return found + [(np.arange(n, dtype=np.int32), weight, *NO_MERGES)] * (levels - len(found))


def _added(seconds: list[dict]) -> dict:
    """Seconds by phase, added up."""
    return {phase: sum(one[phase] for one in seconds) for phase in seconds[0]}
