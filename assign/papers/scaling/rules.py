"""Rules for admissible edges and relabels: the only difference between the pushes of algorithms 5.0, 5.1 and 5.2.

A residual edge (x, y) has the reduced cost c_p(x, y) = c(x, y) + p(x) - p(y).

                        X to Y                 Y to X
  UNMODIFIED            c_p < 0                c_p < 0               admissible      algorithms 5.0, 5.2, 5.4
                        c_p >= -eps            c_p >= -eps           eps-optimal
  HALVES                c_p < eps / 2          c_p < -eps / 2        admissible      algorithm 5.1
                        c_p >= 0               c_p >= -eps           eps-optimal

In both, a relabel lowers p(x) until its lowest residual edge has the minimum c_p that eps-optimality allows.

Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 5.1.
"""

from typing import NamedTuple


class Rules(NamedTuple):
    """One definition of admissible and of eps-optimal."""

    bar: tuple[int, int]  # admissible if c_p is below this many halves of eps; for edges that leave X, and Y
    low: tuple[int, int]  # eps-optimal if c_p is at least this many eps

    def at(self, eps: int):
        """bar_x, bar_y, low_x, low_y as integers: c_p < bar is the same as c_p < the exact half."""
        bar_x, bar_y = (-(-halves * eps // 2) for halves in self.bar)
        low_x, low_y = (times * eps for times in self.low)
        return bar_x, bar_y, low_x, low_y

    def losses(self, x_nodes: int) -> int:
        """Number of edges in a simple cycle that may cost -eps; a cycle visits each node of X at most once."""
        return -sum(self.low) * x_nodes


UNMODIFIED = Rules(bar=(0, 0), low=(-1, -1))
HALVES = Rules(bar=(1, -1), low=(0, -1))
