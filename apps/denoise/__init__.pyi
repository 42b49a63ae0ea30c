from .restoration import Restoration, denoise

DATA: tuple[str, ...]
SMOOTHNESS_TERM: str
LEVELS: int

__all__ = [
    "Restoration",
    "denoise",
]
