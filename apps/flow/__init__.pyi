from .dense_flow import Flow, flow
from .flow_sequence import flow_sequence

LINKERS: tuple[str, ...]

__all__ = [
    "Flow",
    "flow",
    "flow_sequence",
]
