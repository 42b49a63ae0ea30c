"""matching: maximum matchings of bipartite graphs with their proof, and greedy matchings of general graphs.

Names are loaded on first use from the modules that `__init__.pyi` gives: importing matching does not import numba.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
