import apps as apps
import assign as assign
import gridcut as gridcut
import matching as matching
from apps import Session as Session
from apps import denoise as denoise
from apps import flow as flow
from apps import match as match
from apps import refine as refine
from apps import segment as segment
from apps import stereo as stereo
from apps import superpixels as superpixels
from apps import track as track
from assign import linear_sum_assignment as linear_sum_assignment
from assign import min_cost_flow as min_cost_flow
from assign import min_weight_full_bipartite_matching as min_weight_full_bipartite_matching
from gridcut import GraphSolver as GraphSolver
from gridcut import LabelSolver as LabelSolver
from gridcut import Solver as Solver
from gridcut import alpha_beta_swap as alpha_beta_swap
from gridcut import alpha_expansion as alpha_expansion
from gridcut import binary_labels as binary_labels
from gridcut import contrast_edges as contrast_edges
from gridcut import convex_labels as convex_labels
from gridcut import graph_max_flow as graph_max_flow
from gridcut import max_flow as max_flow
from gridcut import max_flow_batch as max_flow_batch
from gridcut import neighbourhood as neighbourhood
from matching import maximum_bipartite_matching as maximum_bipartite_matching
from matching import structural_rank as structural_rank
