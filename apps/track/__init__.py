"""Link particles or points over many frames: `track`."""

from apps.common.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Detections": "apps.track.tracking",
        "Tracks": "apps.track.tracking",
        "track": "apps.track.tracking",
    },
)
