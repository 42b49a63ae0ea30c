"""Cost scaling, the paper's combination of algorithms 5.0 and 5.1: Łupińska, algorithm 5.2.

Returns an optimal assignment and prices that certify it.  Refine starts without flow, as in algorithm 5.1, but edges
are admissible and eps-optimal by the definitions of algorithm 5.0.

    Refine(eps, p):                                              here
      eps <- eps / alpha                                         scale.py
      for each (x, y) in E do f(x, y) <- 0                       empty
      for each x in X do p(x) <- -min {c'_p(x, y) + eps}         empty, low = -eps
      while f is not a flow do push or relabel                   refine.py
    relabel(x): p(x) <- -min {c'_p(x, z) + eps}

Deviates from [1]: costs are converted to integers, see network.py.  Rectangular problems, and rows that may stay
unmatched, are modelled by additional nodes, see network.py.  Prices are updated every V relabels, and edges
are fixed after each Refine.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 5.1.
[2] Goldberg, Kennedy. "An efficient cost scaling algorithm for the assignment problem." Math. Program. 71, 1995.

O(n^2 m min(log(nC), m log n)); memory 34 bytes per pair.
"""

from functools import partial

from assign.papers.scaling.refine import UNMODIFIED, empty, until_flow
from assign.papers.scaling.scale import solve_sequentially

RULES = UNMODIFIED


def refine(network, eps, stats, price_updates=True, **rule):
    """Compute an eps-optimal flow."""
    _, _, low, _ = RULES.at(eps)
    empty(network, low)
    until_flow(network, RULES, eps, stats, price_updates, **rule)


solve = partial(solve_sequentially, refine, RULES)
