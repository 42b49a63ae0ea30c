"""LabelSolver: labellings of almost the same problem, each starting from the labels and flows of the one before.

After an update the cells with other costs count as changed, along with their neighbours.  Everywhere else the flow of
each label's last expansion still proves that nothing gains there [1], so the next descent looks only at what is new.
A change of every pixel, such as the noise of a camera, leaves most of each flow in place: it is taken as far as the new
capacities allow, and what it no longer feeds is fed from nearby (moves.py).

[1] Alahari, Kohli, Torr. "Reduce, reuse & recycle: efficiently solving multi-label MRFs." CVPR 2008.
"""

import time

import numpy as np

from gridcut.device.arguments import check_callback, plain_array
from gridcut.multilabel.descent import Descent, run_all
from gridcut.multilabel.expansion import check_order, check_restarts, plan
from gridcut.multilabel.labelling import Labelling
from gridcut.multilabel.validation import check_cycles, check_labels, check_start


class LabelSolver:
    """`alpha_expansion`, change some costs, again: each time from the last labels and the last flows.

    Every solve ends where no expansion of any label lowers the energy of the costs as they are then.

    Parameters
    ----------
    unary, weights, label_cost, start, order
        As in `alpha_expansion`.  The unary costs are copied: later changes to the caller's own array do not matter.
    restarts : int
        As in `alpha_expansion`, in each solve; none by default, as labels get better from one problem to the next.

    Raises
    ------
    TypeError, ValueError
        As `alpha_expansion`.

    Notes
    -----
    Runs on the CPU.  Memory: as `alpha_expansion`, and one copy of the unary costs.  Not for use by two threads at
    once; different solvers are independent.

    Examples
    --------
    >>> import numpy as np
    >>> unary = np.array([[0, 0, 2, 9, 9], [5, 5, 3, 4, 5], [9, 9, 2, 0, 0]])
    >>> solver = LabelSolver(unary, {(1,): 1})
    >>> solver.solve().labels
    array([0, 0, 0, 2, 2], dtype=int32)
    >>> solver.update(unary=np.roll(unary, 1, axis=1))
    >>> solver.solve().labels
    array([2, 0, 0, 2, 2], dtype=int32)
    """

    def __init__(self, unary, weights, label_cost=None, *, start=None, order=None, restarts: int = 0):
        started = time.perf_counter()
        self._set_problem(np.array(plain_array("unary", unary)), weights, label_cost)
        self._descent = Descent(self._problem, check_start(start, self._problem))
        self._restarts = check_restarts(restarts)
        self._order = order
        check_order(order, self._problem)
        self._seconds = time.perf_counter() - started

    def update(self, *, unary=None, weights=None) -> None:
        """Change costs; what is not named stays, and so do the labels.  On an error nothing has changed.

        Parameters
        ----------
        unary : array_like, shape (L, *grid), optional
            New costs of all labels at all pixels.
        weights : mapping from offset to array_like, optional
            New weights of all edges.

        Raises
        ------
        TypeError, ValueError
            As `alpha_expansion`; also for another shape.
        """
        started = time.perf_counter()
        old = self._arguments
        if unary is not None and np.shape(unary) != old[0].shape:
            raise ValueError(f"unary must keep its shape {old[0].shape}, got {np.shape(unary)}; make another solver")
        unary = old[0] if unary is None else np.array(plain_array("unary", unary))
        self._set_problem(unary, old[1] if weights is None else weights, old[2])
        self._seconds += time.perf_counter() - started

    def solve(self, *, max_cycles: int | None = None, callback=None) -> Labelling:
        """A labelling for the costs as they are now; `max_cycles` and `callback` as in `alpha_expansion`."""
        cycles = check_cycles(max_cycles)
        check_callback(callback)
        started = time.perf_counter()
        problem, descent = self._problem, self._descent
        descent.replace_problem(problem)
        moves, restart_plan = plan(check_order(self._order, problem), problem.count, self._restarts)
        run_all(descent, moves, restart_plan, cycles, callback)
        seconds = {"update": self._seconds, "solve": time.perf_counter() - started}
        self._seconds = 0.0
        return descent.result(self._arguments, moves, seconds)

    def _set_problem(self, unary, weights, label_cost) -> None:
        self._problem = check_labels(unary, weights, label_cost, metric=True)
        self._arguments = unary, {offset: np.array(weight) for offset, weight in weights.items()}, label_cost
