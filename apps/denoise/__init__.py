"""Restore noisy and damaged images: `denoise`."""

from apps.common.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Restoration": "apps.denoise.restoration",
        "denoise": "apps.denoise.restoration",
    },
)
