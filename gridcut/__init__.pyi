from .batch import BatchCut, max_flow_batch
from .contrast import contrast_edges, neighbourhood
from .core.cut import Cut
from .device import CertificateError
from .energy import BinaryEnergy, BinaryMinimum, binary_labels, binary_minimum, energy_of
from .graph.graph_cut import GraphCut
from .graph.graph_flow import graph_max_flow
from .graph.graph_solver import GraphSolver
from .maximum_flow import max_flow
from .multilabel.convex import ConvexMinimum, convex_labels
from .multilabel.expansion import alpha_expansion
from .multilabel.label_solver import LabelSolver
from .multilabel.labelling import Labelling
from .multilabel.roof import RoofDual, roof_duality
from .multilabel.swap import alpha_beta_swap
from .solver import Solver

__all__ = [
    "BatchCut",
    "BinaryEnergy",
    "BinaryMinimum",
    "CertificateError",
    "ConvexMinimum",
    "Cut",
    "GraphCut",
    "GraphSolver",
    "LabelSolver",
    "Labelling",
    "RoofDual",
    "Solver",
    "alpha_beta_swap",
    "alpha_expansion",
    "binary_labels",
    "binary_minimum",
    "contrast_edges",
    "convex_labels",
    "energy_of",
    "graph_max_flow",
    "max_flow",
    "max_flow_batch",
    "neighbourhood",
    "roof_duality",
]
