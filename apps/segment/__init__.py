"""Cut objects out of images and volumes: `segment`, and `segment_labels` and `segment_volume` for several objects."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
