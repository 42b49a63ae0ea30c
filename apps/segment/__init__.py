"""Cut objects out of images and volumes: `segment`, and `segment_labels` and `segment_volume` for several objects."""

import lazy_loader as _lazy

# Choices and defaults of the library and of the command, which does not load the library for its help.
KEEP = ("touching", "all", "largest")
CONNECTIVITIES = (6, 26)  # neighbours of a voxel
SPACING = (1.0, 1.0, 1.0)  # of voxels

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
