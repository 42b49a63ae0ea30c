from .tracking import Detections, Tracks, track

DETECTORS: tuple[str, ...]
THRESHOLD: float
LINKERS: tuple[str, ...]
DIVISION_COST: float

__all__ = [
    "Detections",
    "Tracks",
    "track",
]
