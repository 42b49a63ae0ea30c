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
    from gridcut.cut import CertificateError, Cut
    from gridcut.energy import BinaryEnergy, BinaryMinimum, binary_labels, binary_minimum, energy_of
    from gridcut.flow import max_flow
    from gridcut.solver import Solver

_MODULE_OF = {
    "BatchCut": "gridcut.batch",
    "BinaryEnergy": "gridcut.energy",
    "BinaryMinimum": "gridcut.energy",
    "CertificateError": "gridcut.certificate",
    "Cut": "gridcut.cut",
    "Solver": "gridcut.solver",
    "binary_labels": "gridcut.energy",
    "binary_minimum": "gridcut.energy",
    "contrast_edges": "gridcut.contrast",
    "energy_of": "gridcut.energy",
    "max_flow": "gridcut.flow",
    "max_flow_batch": "gridcut.batch",
}

__all__ = [
    "BatchCut",
    "BinaryEnergy",
    "BinaryMinimum",
    "CertificateError",
    "Cut",
    "Solver",
    "binary_labels",
    "binary_minimum",
    "contrast_edges",
    "energy_of",
    "max_flow",
    "max_flow_batch",
    "neighbourhood",
]


def __getattr__(name: str):
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'gridcut' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
