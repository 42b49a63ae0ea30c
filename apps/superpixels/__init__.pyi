from .regions import Superpixels, superpixels

__all__ = [
    "Superpixels",
    "superpixels",
]
