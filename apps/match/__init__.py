"""Match points between two images of a scene: `match_wide`.

The package itself can be called: `apps.match(...)` is `match_wide(...)`.
"""

import lazy_loader as _lazy

from apps.common.callable_module import make_callable as _make_callable

# Choices and defaults of the library and of the command, which does not load the library for its help.
MODELS = ("auto", "homography", "fundamental")
INLIER_THRESHOLD = 3.0  # pixels

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
_make_callable(__name__, "match_wide")
