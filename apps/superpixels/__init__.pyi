from .regions import Superpixels, superpixels

REGIONS: int
REGULARITY: float

__all__ = [
    "Superpixels",
    "superpixels",
]
