from .unwrapping import Unwrapped, unwrap

NORMS: tuple[str, ...]

__all__ = [
    "Unwrapped",
    "unwrap",
]
