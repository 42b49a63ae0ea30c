from .tracking import Detections, Tracks, track

__all__ = [
    "Detections",
    "Tracks",
    "track",
]
