from .dense_flow import Flow, flow

LINKERS: tuple[str, ...]

__all__ = [
    "Flow",
    "flow",
]
