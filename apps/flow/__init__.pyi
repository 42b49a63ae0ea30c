from .dense_flow import Flow, flow
from .sequence_flow import flow_sequence

LINKERS: tuple[str, ...]

__all__ = [
    "Flow",
    "flow",
    "flow_sequence",
]
