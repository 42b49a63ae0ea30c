from .unwrapping import Unwrapped, unwrap

__all__ = [
    "Unwrapped",
    "unwrap",
]
