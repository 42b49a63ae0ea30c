"""Cost scaling that keeps its flow from one Refine to the next: Łupińska, algorithm 5.0, after Goldberg.

Returns an optimal assignment and prices that certify it.  Refine saturates every edge with negative reduced cost, which
makes the pseudoflow 0-optimal and some nodes active, and pushes and relabels until it is a flow again.

    Refine(eps, p):                                              here
      eps <- eps / alpha                                         scale.py
      for each (x, y) in E: c_p(x, y) < 0 do f(x, y) <- 1        saturate
      while f is not a flow do push or relabel                   refine.py

Deviates from [1]: reverse edges with c_p(y, x) < 0 are saturated too (their flow is returned).  In the text, E holds
the edges of G only, but then the pseudoflow need not be eps-optimal at the start, as the text claims.  Costs are
converted to integers, see network.py.  Rectangular problems, and rows that may stay unmatched, are modelled by
additional nodes, see network.py.  Prices are updated every V relabels, and edges are fixed after each Refine,
when f is a flow, as the rule requires.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 5.1.
[2] Goldberg. "An efficient implementation of a scaling minimum-cost flow algorithm." J. Algorithms 22, 1997.

O(n^2 m min(log(nC), m log n)); memory 34 bytes per pair.
"""

from functools import partial

from assign.papers.scaling.refine import UNMODIFIED, saturate, until_flow
from assign.papers.scaling.scale import solve_sequentially

RULES = UNMODIFIED


def refine(network, eps, stats, price_updates=True, **rule):
    """Make the flow eps-optimal again."""
    saturate(network, 0)
    until_flow(network, RULES, eps, stats, price_updates, **rule)


solve = partial(solve_sequentially, refine, RULES)
