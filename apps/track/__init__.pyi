from .tracking import Detections, Tracks, track

DETECTORS: tuple[str, ...]
THRESHOLD: float
LINKERS: tuple[str, ...]

__all__ = [
    "Detections",
    "Tracks",
    "track",
]
