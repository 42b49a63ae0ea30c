from .assignment import Assignment, CertificateError
from .batch_solving import BatchAssignment, solve_batch
from .compat.scipy import linear_sum_assignment, min_weight_full_bipartite_matching
from .core.infeasible import InfeasibleError
from .cost_flow import MinCostFlow, min_cost_flow
from .flow.flow_errors import InfeasibleFlowError, UnboundedFlowError
from .points import solve_points
from .ranking import RankedAssignments, k_best
from .solving import solve

__all__ = [
    "Assignment",
    "BatchAssignment",
    "CertificateError",
    "InfeasibleError",
    "InfeasibleFlowError",
    "MinCostFlow",
    "RankedAssignments",
    "UnboundedFlowError",
    "k_best",
    "linear_sum_assignment",
    "min_cost_flow",
    "min_weight_full_bipartite_matching",
    "solve",
    "solve_batch",
    "solve_points",
]
