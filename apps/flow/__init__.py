"""Compute the dense optical flow between two frames: `flow`.

The package itself can be called: `apps.flow(...)` is `flow(...)`.
"""

import lazy_loader as _lazy

from apps.common.callable_module import make_callable as _make_callable

# Choices and defaults of the library and of the command, which does not load the library for its help.
LINKERS = ("assignment", "windows")

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
_make_callable(__name__, "flow")
