"""assign: the linear assignment problem, exact: dense, sparse and batched costs, on CPU and GPU.

Names are loaded on first use: importing assign does not import numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assign.assignment import Assignment
    from assign.batch_solving import BatchAssignment, solve_batch
    from assign.core.infeasible import InfeasibleError
    from assign.points import solve_points
    from assign.solving import linear_sum_assignment, solve
    from gridcut.device import CertificateError

_MODULE_OF = {
    "Assignment": "assign.assignment",
    "BatchAssignment": "assign.batch_solving",
    "CertificateError": "gridcut.device",
    "InfeasibleError": "assign.core.infeasible",
    "linear_sum_assignment": "assign.solving",
    "solve": "assign.solving",
    "solve_batch": "assign.batch_solving",
    "solve_points": "assign.points",
}

__all__ = [
    "Assignment",
    "BatchAssignment",
    "CertificateError",
    "InfeasibleError",
    "linear_sum_assignment",
    "solve",
    "solve_batch",
    "solve_points",
]


def __getattr__(name: str):
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'assign' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
