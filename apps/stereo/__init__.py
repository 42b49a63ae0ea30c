"""Compute disparities of a rectified pair of images: `stereo`."""

from apps.common.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Disparity": "apps.stereo.disparities",
        "stereo": "apps.stereo.stereo_command",
    },
)
