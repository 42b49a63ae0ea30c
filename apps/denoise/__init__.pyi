from .restoration import Restoration, denoise

__all__ = [
    "Restoration",
    "denoise",
]
