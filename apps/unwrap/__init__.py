"""Unwrap phases: `unwrap`.

The package itself can be called: `apps.unwrap(...)` is `unwrap(...)`.
"""

import lazy_loader as _lazy

from apps.common.callable_module import make_callable as _make_callable

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
_make_callable(__name__, "unwrap")

NORMS = ("l1", "l2")
