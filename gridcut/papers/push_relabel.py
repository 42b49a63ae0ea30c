"""Sequential push-relabel with global and gap relabeling: Łupińska, algorithms 4.1 to 4.4.

Returns the pixels that can still reach the sink once no excess can.  Active pixels are discharged first in, first
out, or from the highest level first (order="fifo" or "highest").  Heights are recomputed by a backward search
every n relabels.  The generic algorithm 4.2 is global_every=infinity, gap=False, exact_start=False.

`Cut.flow` and the default method need push-relabel too, so the loop and both orders are in
gridcut/core/push_relabel_steps.py.

Arrays (n cells; ceiling = n + 1)     paper [1]
  excess[p] > 0: active                e(x);  < 0: minus the residual capacity of the arc to t
  height[p]                            h(x);  ceiling: disconnected from t
  residual[p * 2K + k]                 u_f(x, y),  y = p + step[k]
  members[h]                           pixels of height h; 0 below some height means a gap
  queue (fifo)                         S, a ring: every active pixel that is connected to t, once
  first[h], after[p] (highest)         S, a list per height

Deviates from [1]: excess disconnected from the sink stays in its pixel instead of flowing back to the source, which the
minimum cut does not need (`Cut.flow` returns it on request), and heights end at n + 1, not at 2 n - 1; heights start as
distances, or as 1 instead of 0, because the sink's arcs are in the excesses; the source's arcs are represented by the
initial excess; a gap is found as in [2], by counting members, not only after a search.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 4.1 and 4.2.
[2] Cherkassky, Goldberg. "On implementing the push-relabel method for the maximum flow problem." Algorithmica
1997.

Time O(n^3) with FIFO order, O(n^2 sqrt(m)) with the highest label; memory 12 bytes per pixel (fifo),
16 (highest).
"""

from gridcut.core.grid import Grid
from gridcut.core.push_relabel_steps import discharge_fifo, discharge_highest
from gridcut.core.push_relabel_steps import solve as solve_by
from gridcut.device.arguments import check_switch

ORDERS = {"fifo": discharge_fifo, "highest": discharge_highest}


def solve(grid: Grid, *, order="fifo", global_every=1.0, gap=True, exact_start=True, callback=None):
    """Solve in place; the mask of the sink side, and stats.

    order         "fifo" or "highest": order in which active pixels are discharged
    global_every  relabels between two global relabelings, as a multiple of the number of cells (the paper:
                  once every n); infinity: none but the last, which finds the sink side
    gap           pixels above a gap become disconnected at once
    exact_start   heights start as distances to the sink; False: as low as possible, as in algorithm 4.1
    """
    if order not in ORDERS:
        raise ValueError(f"order must be 'fifo' or 'highest', got {order!r}")
    check_switch("gap", gap)
    check_switch("exact_start", exact_start)
    rules = {"discharge": ORDERS[order], "global_every": global_every, "gap": gap, "exact_start": exact_start}
    return solve_by(grid.excess, grid.residual, grid.step, **rules, callback=callback)
