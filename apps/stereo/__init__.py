"""Compute disparities of a rectified pair of images: `stereo`.

The package itself can be called: `apps.stereo(...)` is `stereo(...)`.
"""

import lazy_loader as _lazy

from apps.common.callable_module import make_callable as _make_callable

# Choices and defaults of the library and of the command, which does not load the library for its help.
COSTS = ("birchfield-tomasi", "absolute")
SMOOTHNESS = 13.0  # grey levels: weight of a one-pixel step between neighbours of equal colour
SMOOTHNESS_TERM = "linear"
TRUNCATE = 5  # steps

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
_make_callable(__name__, "stereo")
