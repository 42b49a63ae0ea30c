"""Cost scaling with the assignment problem's own definitions: Łupińska, algorithm 5.1, after Goldberg and Kennedy.

Returns an optimal assignment and prices that certify it.  Refine starts without flow, and only edges that leave
a column may have a reduced cost of -eps.  Edges are admissible below eps / 2 or -eps / 2 (refine.py), so after a
push the reverse edge is equally far from admissible.

    Refine(eps, p):                                              here
      eps <- eps / alpha                                         scale.py
      for each (x, y) in E do f(x, y) <- 0                       empty
      for each x in X do p(x) <- -min c'_p(x, y)                 empty, low = 0
      while f is not a flow do push or relabel                   refine.py
    relabel(x in X): p(x) <- max p(y) - c(x, y)
    relabel(y in Y): p(y) <- max p(z) + c(z, y) - eps

Deviates from [1]: costs are converted to integers, see network.py.  Rectangular problems, and rows that may stay
unmatched, are modelled by additional nodes, see network.py.  Prices are updated every V relabels, and edges
are fixed after each Refine.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 5.1.
[2] Goldberg, Kennedy. "An efficient cost scaling algorithm for the assignment problem." Math. Program. 71, 1995.

O(n m log(nC)) [2]; memory 34 bytes per pair.
"""

from functools import partial

from assign.papers.scaling.refine import HALVES, empty, until_flow
from assign.papers.scaling.scale import solve_sequentially

RULES = HALVES


def refine(network, eps, stats, price_updates=True, **rule):
    """Compute an eps-optimal flow."""
    _, _, low, _ = RULES.at(eps)
    empty(network, low)
    until_flow(network, RULES, eps, stats, price_updates, **rule)


solve = partial(solve_sequentially, refine, RULES)
