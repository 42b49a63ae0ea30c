"""Divide images into connected regions of nearly one colour: `superpixels`."""

from apps.common.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Superpixels": "apps.superpixels.regions",
        "superpixels": "apps.superpixels.regions",
    },
)
