from .assignment import Assignment, CertificateError
from .batch_solving import BatchAssignment, solve_batch
from .core.infeasible import InfeasibleError
from .points import solve_points
from .solving import linear_sum_assignment, solve

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
