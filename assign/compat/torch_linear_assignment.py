"""The functions of the package torch_linear_assignment: `import assign.compat.torch_linear_assignment as ...`."""

import sys
from typing import Any

import numpy as np

from assign.batch_solving import solve_batch

__all__ = ["assignment_to_indices", "batch_linear_assignment"]


def batch_linear_assignment(cost: Any) -> Any:
    """Solve a batch of linear assignment problems: those of tensors on a GPU there, others on the CPU.

    Parameters
    ----------
    cost : tensor or array_like (B, W, T)
        Cost of each worker and task; inf forbids a pair.

    Returns
    -------
    tensor or ndarray of int64 (B, W)
        Task of each worker, -1 for none, on the device of `cost`.

    Raises
    ------
    TypeError
        If the costs are not real numbers.
    ValueError
        If the costs do not have three axes, or hold NaN or -inf (on a GPU not checked), or if a problem has no
        assignment of allowed pairs.

    Examples
    --------
    >>> batch_linear_assignment([[[4, 1, 3], [2, 0, 5]], [[1, 2, 0], [1, 5, 5]]])
    array([[1, 0],
           [2, 0]])
    """
    torch = _torch_of(cost)
    if torch is None:
        cost = np.asarray(cost)
    elif cost.dtype not in (torch.float32, torch.float64, torch.int32, torch.int64) and not cost.is_complex():
        cost = cost.to(torch.float32)  # holds all smaller types exactly
    if cost.ndim != 3:
        raise ValueError("Need 3-dimensional tensor with shape (B, W, T).")
    on_host = torch is None or cost.device.type == "cpu"
    found = solve_batch(np.asarray(cost.detach() if torch else cost) if on_host else cost.detach())
    if not found.feasible.all():
        raise ValueError("cost matrix is infeasible")
    if not on_host:
        tasks: Any = found.col_of_row
        return tasks.to(torch.int64)
    partners = np.asarray(found.col_of_row, np.int64)
    return partners if torch is None else torch.from_numpy(partners)


def assignment_to_indices(assignment: Any) -> tuple[Any, Any]:
    """The pairs of an assignment (B, W): workers and tasks, each (B, K), by ascending worker.

    Raises a ValueError if the problems have different numbers of pairs.
    """
    torch = _torch_of(assignment)
    if torch is None:
        assignment = np.asarray(assignment)
    mask = assignment >= 0
    count = mask.sum(1)
    if (count[1:] != count[:1]).any():
        raise ValueError("Inconsistent matching sizes.")
    shape = len(count), int(count[0]) if len(count) else 0
    workers = (mask.nonzero(as_tuple=True) if torch else mask.nonzero())[1]
    return workers.reshape(shape), assignment[mask].reshape(shape)


def _torch_of(value) -> Any:
    """The module torch if the value is a tensor, else None."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(value, torch.Tensor) else None
