from .disparities import Disparity
from .stereo_command import stereo

__all__ = [
    "Disparity",
    "stereo",
]
