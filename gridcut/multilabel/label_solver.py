"""LabelSolver: a sequence of similar labelling problems, each starting from the labels and flows of the one before.

After an update, the cells whose costs differ count as changed, along with their neighbours.  Everywhere else the flow
of each label's last expansion still proves that no pixel gains [1], so the next descent visits only the changes.  If
every pixel changes, for example by camera noise, most of each flow remains valid: it is clamped to the new capacities,
and the resulting deficits are satisfied from nearby excess (moves.py).

A solve that an interrupt, or an error of the callback, ends in the middle leaves flows half changed.  Its descent is
therefore dropped: the next solve starts from the labels that it reached, and without flows.

[1] Alahari, Kohli, Torr. "Reduce, reuse & recycle: efficiently solving multi-label MRFs." CVPR 2008."""

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from gridcut.core.problem import Offset
from gridcut.device.arguments import check_callback, check_count, one_at_a_time, plain_array
from gridcut.multilabel.descent import Descent, run_all
from gridcut.multilabel.expansion import check_order, plan
from gridcut.multilabel.labelling import Labelling
from gridcut.multilabel.validation import check_cycles, check_labels, check_mapping, check_start


class LabelSolver:
    """Solve a sequence of similar problems by `alpha_expansion`, warm-starting from the last labels and flows.

    At the end of every solve, no expansion of any label lowers the energy of the current costs.

    Parameters
    ----------
    unary, weights, label_cost, start, order
        As in `alpha_expansion`.  The costs are copied; later changes of the caller's arrays have no effect.
    restarts : int
        As in `alpha_expansion`, in each solve.  None by default, since labels improve from one problem to the next.

    Raises
    ------
    TypeError, ValueError
        As `alpha_expansion`.

    Notes
    -----
    Runs on the CPU.  Memory: as `alpha_expansion`, plus one copy of the unary costs.

    An interrupt of `update` changes all costs or none.  After an interrupt of `solve`, or an error that the callback
    raises, the next solve starts from the labels reached, without flows.  Copies and pickles are independent, and have
    the costs and the labels, without flows.  A solver that another thread is using raises RuntimeError; different
    solvers are independent.

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

    _is_running = False  # see one_at_a_time

    def __init__(
        self,
        unary: ArrayLike,
        weights: Mapping[Offset, ArrayLike],
        label_cost: ArrayLike | None = None,
        *,
        start: ArrayLike | None = None,
        order: Sequence[int] | None = None,
        restarts: int = 0,
    ):
        started = time.perf_counter()
        if label_cost is not None:
            label_cost = np.array(plain_array("label_cost", label_cost))
        self._set_problem(np.array(plain_array("unary", unary)), _own_weights(weights), label_cost)
        self._order = None if order is None else check_order(order, self._problem)
        self._restarts = check_count("restarts", restarts, 0)
        # The descent of the last solve; None: the next one starts from these labels.
        self._labels = np.empty(0, np.int32)
        self._descent: Descent | None = Descent(self._problem, check_start(start, self._problem))
        self._seconds = time.perf_counter() - started

    @one_at_a_time
    def update(self, *, unary: ArrayLike | None = None, weights: Mapping[Offset, ArrayLike] | None = None) -> None:
        """Change costs; those not passed, and the labels, stay as they are.  An error leaves the solver unchanged.

        Parameters
        ----------
        unary : array_like, shape (L, *grid), optional
            New costs of all labels at all pixels.
        weights : mapping from offset to array_like, optional
            New weights of all edges.

        Raises
        ------
        TypeError, ValueError
            As `alpha_expansion`; also if the shape changes.
        """
        started = time.perf_counter()
        old = self._arguments
        if unary is not None and np.shape(unary) != old[0].shape:
            raise ValueError(
                f"unary must keep its shape {old[0].shape}, got {np.shape(unary)}; create another LabelSolver"
            )
        unary = old[0] if unary is None else np.array(plain_array("unary", unary))
        self._set_problem(unary, old[1] if weights is None else _own_weights(weights), old[2])
        self._seconds += time.perf_counter() - started

    @one_at_a_time
    def solve(self, *, max_cycles: int | None = None, callback: Callable[[dict], object] | None = None) -> Labelling:
        """Minimise the energy of the current costs, from the last labels.

        Parameters
        ----------
        max_cycles, callback
            As in `alpha_expansion`.

        Returns
        -------
        Labelling
            As of `alpha_expansion`.
        """
        cycles = check_cycles(max_cycles)
        check_callback(callback)
        started = time.perf_counter()
        problem, arguments = self._problem, self._arguments
        moves, restart_plan = plan(check_order(self._order, problem), problem.count, self._restarts)
        descent = self._descent
        labels = self._labels if descent is None else descent.labels
        self._labels, self._descent = labels, None  # until this solve is complete
        if descent is None:
            descent = Descent(problem, labels)
        else:
            descent.replace_problem(problem)
        try:
            run_all(descent, moves, restart_plan, cycles, callback)
        except BaseException:
            self._labels = descent.labels
            raise
        seconds = {"update": self._seconds, "solve": time.perf_counter() - started}
        result = descent.result(arguments, moves, seconds)
        self._seconds = 0.0
        self._descent = descent
        return result

    def _set_problem(self, unary, weights, label_cost) -> None:
        """Check costs, arrays of our own, and record them all together."""
        problem = check_labels(unary, weights, label_cost, metric=True)
        self._problem, self._arguments = problem, (unary, weights, label_cost)

    @one_at_a_time
    def __getstate__(self) -> dict:
        """What copies and pickles hold: the costs, and the labels of the last solve."""
        labels = self._labels if self._descent is None else self._descent.labels
        return {**self.__dict__, "_labels": labels, "_descent": None, "_is_running": False}


def _own_weights(weights) -> dict:
    """Copies of all weights."""
    check_mapping(weights)
    return {offset: np.array(plain_array(f"weights[{offset}]", weight)) for offset, weight in weights.items()}
