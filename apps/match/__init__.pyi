from .wide_baseline import WideMatches, match_wide

__all__ = [
    "WideMatches",
    "match_wide",
]
