"""Cost scaling that keeps its flow from one Refine to the next: Łupińska, algorithm 5.0, after Goldberg.

Returns the cheapest assignment and prices that prove it.  Refine saturates every edge that is cheaper than its prices,
which makes the pseudoflow 0-optimal and some nodes active, and pushes and relabels until it is a flow again.

    Refine(eps, p):                                              here
      eps <- eps / alpha                                         scaling/scale.py
      for each (x, y) in E: c_p(x, y) < 0 do f(x, y) <- 1        saturate
      while f is not a flow do push or relabel                   scaling/refine.py

Deviates from [1]: reverse edges with c_p(y, x) < 0 are saturated too (their flow goes back).  The text takes E as the
edges of G only, but then the pseudoflow need not even be eps-optimal at the start, which it says it is.  Costs are
integers, of which scaling/load.py tells; rectangular problems and rows that may stay unmatched are a network with one
more node, see scaling/network.py.  Prices are updated every V relabels, edges are fixed after each Refine, when f is
a flow, as the rule asks.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 5.1.
[2] Goldberg. "An efficient implementation of a scaling minimum-cost flow algorithm." J. Algorithms 22, 1997.

O(n^2 m min(log(nC), m log n)); memory 34 bytes a pair.
"""

from assign.papers.scaling.arc_fixing import fix_arcs
from assign.papers.scaling.refine import saturate, until_flow
from assign.papers.scaling.rules import UNMODIFIED
from assign.papers.scaling.scale import solve_rows

RULES = UNMODIFIED


def refine(network, eps, stats, price_updates=True):
    """Make the flow eps-optimal."""
    saturate(network, 0)
    until_flow(network, RULES, eps, stats, price_updates)


def solve(
    indptr, indices, cost, m, *, limit=None, start=None, callback=None, alpha=10, price_updates=True, arc_fixing=True
):
    """Solve a problem with rows in CSR; column of each row (-1: unmatched), u, v, and counts of what was done.

    alpha          what eps is divided by before each Refine
    price_updates  algorithm 5.3 every V relabels
    arc_fixing     take edges out whose flow will not change
    """
    return solve_rows(
        (indptr, indices, cost),
        m,
        lambda network, eps, stats: refine(network, eps, stats, price_updates),
        RULES,
        limit=limit,
        start=start,
        callback=callback,
        alpha=alpha,
        fix=fix_arcs if arc_fixing else None,
    )
