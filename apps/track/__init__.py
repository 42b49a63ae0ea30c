"""Link particles or points over many frames: `track`.

The package itself can be called: `apps.track(...)` is `track(...)`.
"""

import lazy_loader as _lazy

from apps.common.callable_module import make_callable as _make_callable

# Choices and defaults of the library and of the command, which does not load the library for its help.
DETECTORS = ("auto", "bright", "dark", "corners")
THRESHOLD = 4.0  # minimum brightness in multiples of the noise
LINKERS = ("assignment", "global")
DIVISION_COST = 0.2  # in squared search ranges, of the command

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
_make_callable(__name__, "track")
