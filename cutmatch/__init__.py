"""cutmatch: exact graph cuts, assignments and matchings for images.

The main functions, and the four packages that they come from, as attributes:

================  ===========================================================================================
cuts              `max_flow`, `max_flow_batch`, `graph_max_flow`, `Solver`, `GraphSolver`, `contrast_edges`,
                  `neighbourhood`
labels            `binary_labels`, `alpha_expansion`, `alpha_beta_swap`, `convex_labels`, `LabelSolver`
assignments       `linear_sum_assignment`, `min_weight_full_bipartite_matching`; `assign.solve` and its relatives
flows             `min_cost_flow`
matchings         `maximum_bipartite_matching`, `structural_rank`; `matching.maximum` and its relatives
images            `segment`, `refine`, `Session`, `flow`, `match`, `track`, `stereo`, `superpixels`, `denoise`
packages          `gridcut`, `assign`, `matching`, `apps`
================  ===========================================================================================

Everything is loaded on first use.  The packages can also be imported by their own names.  Other projects have packages
with these names, `apps` above all: if such a package comes first on the path, an attribute that needs ours raises
ImportError, and the others work (`cutmatch.own_packages`).
"""

import sys as _sys
from importlib import import_module as _import_module

from cutmatch.own_packages import check_own as _check_own

_NAMES = {  # module: its names
    "gridcut": "max_flow max_flow_batch graph_max_flow Solver GraphSolver contrast_edges neighbourhood "
    "binary_labels alpha_expansion alpha_beta_swap convex_labels LabelSolver",
    "assign": "linear_sum_assignment min_cost_flow min_weight_full_bipartite_matching",
    "matching": "maximum_bipartite_matching structural_rank",
    "apps": "segment refine Session flow match track stereo superpixels denoise",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [*_NAMES, *_HOMES]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module 'cutmatch' has no attribute {name!r}")
    package = _HOMES.get(name, name)
    _check_own(package, f"cutmatch.{name}")
    module = _import_module(package)
    value = module if name == package else getattr(module, name)
    setattr(_sys.modules[__name__], name, value)
    return value


def __dir__():
    return __all__
