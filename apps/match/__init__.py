"""Match points between two images of a scene: `match_wide`."""

from apps.common.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "WideMatches": "apps.match.wide_baseline",
        "match_wide": "apps.match.wide_baseline",
    },
)
