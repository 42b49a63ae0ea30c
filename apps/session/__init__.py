"""The interactive session: strokes on an image or a volume, answered by warm-started exact cuts.

`Session` is the whole interface; `apps.Session` is the same class.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
