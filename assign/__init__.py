"""assign: the linear assignment problem, exact: dense, sparse and batched costs, on CPU and GPU.

Names are loaded on first use from the modules that `__init__.pyi` gives: importing assign does not import numba.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
