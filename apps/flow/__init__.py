"""Compute the dense optical flow between two frames: `flow`."""

import lazy_loader as _lazy

# Choices and defaults of the library and of the command, which does not load the library for its help.
LINKERS = ("assignment", "greedy", "mutual", "nearest", "windows")

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
