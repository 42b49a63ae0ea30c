"""gridcut: exact maximum flow and minimum cut on pixel and voxel grids, from arrays to labels.

Names are loaded on first use: importing gridcut does not import numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING

# Not on first use: module and function share a name, and importing the module later would put it in the
# function's place.
from gridcut.neighbourhood import neighbourhood

if TYPE_CHECKING:
    from gridcut.batch import BatchCut, max_flow_batch
    from gridcut.contrast import contrast_edges
    from gridcut.core.cut import Cut
    from gridcut.device import CertificateError
    from gridcut.energy import BinaryEnergy, BinaryMinimum, binary_labels, binary_minimum, energy_of
    from gridcut.maximum_flow import max_flow
    from gridcut.multilabel.convex import ConvexMinimum, convex_labels
    from gridcut.multilabel.expansion import alpha_expansion
    from gridcut.multilabel.label_solver import LabelSolver
    from gridcut.multilabel.labelling import Labelling
    from gridcut.multilabel.roof import RoofDual, roof_duality
    from gridcut.multilabel.swap import alpha_beta_swap
    from gridcut.solver import Solver

_MODULE_OF = {
    "BatchCut": "gridcut.batch",
    "BinaryEnergy": "gridcut.energy",
    "BinaryMinimum": "gridcut.energy",
    "CertificateError": "gridcut.device",
    "ConvexMinimum": "gridcut.multilabel.convex",
    "Cut": "gridcut.core.cut",
    "LabelSolver": "gridcut.multilabel.label_solver",
    "Labelling": "gridcut.multilabel.labelling",
    "RoofDual": "gridcut.multilabel.roof",
    "Solver": "gridcut.solver",
    "alpha_beta_swap": "gridcut.multilabel.swap",
    "alpha_expansion": "gridcut.multilabel.expansion",
    "binary_labels": "gridcut.energy",
    "binary_minimum": "gridcut.energy",
    "contrast_edges": "gridcut.contrast",
    "convex_labels": "gridcut.multilabel.convex",
    "energy_of": "gridcut.energy",
    "max_flow": "gridcut.maximum_flow",
    "max_flow_batch": "gridcut.batch",
    "roof_duality": "gridcut.multilabel.roof",
}

__all__ = [
    "BatchCut",
    "BinaryEnergy",
    "BinaryMinimum",
    "CertificateError",
    "ConvexMinimum",
    "Cut",
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
    "max_flow",
    "max_flow_batch",
    "neighbourhood",
    "roof_duality",
]


def __getattr__(name: str):
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'gridcut' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
