"""Refine the masks of other programs at the resolution of the image: `refine`.

The package itself can be called: `apps.refine(...)` is `refine(...)`.
"""

import lazy_loader as _lazy

from apps.common.callable_module import make_callable as _make_callable

KINDS = ("auto", "levels", "labels", "objects")  # of masks; the command does not load the library for its help

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
_make_callable(__name__, "refine")
