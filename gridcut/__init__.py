"""gridcut: exact maximum flow and minimum cut on pixel and voxel grids, from arrays to labels.

Names are loaded on first use: importing gridcut does not import numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gridcut.contrast import contrast_edges
    from gridcut.cut import CertificateError, Cut
    from gridcut.flow import max_flow
    from gridcut.neighbourhood import neighbourhood

_MODULE_OF = {
    "CertificateError": "gridcut.certificate",
    "Cut": "gridcut.cut",
    "contrast_edges": "gridcut.contrast",
    "max_flow": "gridcut.flow",
    "neighbourhood": "gridcut.neighbourhood",
}

__all__ = ["CertificateError", "Cut", "contrast_edges", "max_flow", "neighbourhood"]


def __getattr__(name: str):
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'gridcut' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
