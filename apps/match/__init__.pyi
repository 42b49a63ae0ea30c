from .wide_baseline import WideMatches, match_wide

MODELS: tuple[str, ...]
INLIER_THRESHOLD: float

__all__ = [
    "WideMatches",
    "match_wide",
]
