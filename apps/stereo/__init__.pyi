from .disparities import Disparity, stereo

COSTS: tuple[str, ...]
SMOOTHNESS: float
SMOOTHNESS_TERM: str
TRUNCATE: int

__all__ = [
    "Disparity",
    "stereo",
]
