"""gridcut: exact maximum flow and minimum cut on pixel and voxel grids, from arrays to labels.

Names are loaded on first use from the modules that `__init__.pyi` gives: importing gridcut does not import numba.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
