"""hopcroft_karp, hkdw's phases and p_hk augment along shortest paths only, a maximal set of them in each phase."""

from collections import deque

import numpy as np
import pytest
import scipy.sparse as sp

import matching
from matching.core.counts import AUGMENTATIONS, PATH_LENGTH
from matching.papers import hkdw, hopcroft_karp, p_hk
from tests.matching import oracles

METHODS = ("hopcroft_karp", "hkdw", "p_hk")


def shortest(row_ptr, row_adj, row_match):
    """Edges of the shortest augmenting path, by a plain breadth-first search; None if there is none."""
    row_of = {int(c): r for r, c in enumerate(row_match) if c >= 0}
    waiting = deque((int(r), 1) for r in np.flatnonzero(row_match < 0))
    seen = set()
    while waiting:
        r, length = waiting.popleft()
        for c in row_adj[row_ptr[r] : row_ptr[r + 1]].tolist():
            if c in seen:
                continue
            seen.add(c)
            if c not in row_of:
                return length
            waiting.append((row_of[c], length + 2))
    return None


def watch_kernel(monkeypatch, module, phases):
    """Compare the paths of each phase of hopcroft_karp or hkdw with the shortest one before and after."""
    honest = module.augment_level_paths

    def watched(row_ptr, row_adj, row_match, col_match, free, number, level, arc, stack, counts):
        length, before = shortest(row_ptr, row_adj, row_match), counts.copy()
        honest(row_ptr, row_adj, row_match, col_match, free, number, level, arc, stack, counts)
        done = counts - before
        assert done[AUGMENTATIONS] > 0
        assert done[PATH_LENGTH] == length * done[AUGMENTATIONS]
        after = shortest(row_ptr, row_adj, row_match)
        assert after is None or after > length, "the set of paths was not maximal"
        phases.append(length)

    monkeypatch.setattr(module, "augment_level_paths", watched)


def watch_phases(monkeypatch, phases):
    """The same for p_hk, for the paths of each worker; several workers may leave paths to the next phase."""
    honest = p_hk.run_phases

    def run_phases(graph, row_match, threads, search, find_levels):
        length = [None]

        def find(free, number, counts):
            length[0] = shortest(graph.row_ptr, graph.row_adj, row_match)
            return find_levels(free, number, counts)

        def watched(*arguments):
            edges, paths, edges_of_paths = search(*arguments)
            assert edges_of_paths == paths * length[0]
            phases.extend([length[0]] * (paths > 0))
            return edges, paths, edges_of_paths

        return honest(graph, row_match, threads, watched, find, 1)

    monkeypatch.setattr(p_hk, "run_phases", run_phases)


def watch(monkeypatch, method, phases):
    if method == "p_hk":
        watch_phases(monkeypatch, phases)
    else:
        watch_kernel(monkeypatch, {"hopcroft_karp": hopcroft_karp, "hkdw": hkdw}[method], phases)


@pytest.mark.parametrize("method", METHODS)
def test_levels_end_at_a_free_column(method):
    """Row 0 is adjacent to a free column and to a matched one, first in its list, that leads to another free column."""
    graph = sp.csr_array([[1, 1, 0], [1, 0, 1]])
    found = matching.maximum(graph, method=method, init="none", start=[-1, 0])
    found.check()
    assert found.stats["path_length"] == 1


@pytest.mark.parametrize(("method", "threads"), [*((method, 1) for method in METHODS), ("p_hk", 3)])
def test_all_paths_of_a_phase_are_shortest(monkeypatch, method, threads):
    how = {"threads": threads, "wide": 1} if method == "p_hk" else {}
    phases, longest = [], 0
    watch(monkeypatch, method, phases)
    rng = np.random.default_rng(1)
    for trial in range(100):
        graph = oracles.random_graph(rng, 30) if trial % 5 else oracles.uniform(200, 3, rng)
        start = oracles.random_start(graph, rng)
        phases.clear()
        found = matching.maximum(graph, method=method, init="none", start=start, **how)
        found.check()
        assert threads > 1 or phases == sorted(phases)
        longest = max([longest, *phases])
    assert longest > 5, "there were paths of several lengths"
