from .dense_flow import Flow
from .flow_command import flow

__all__ = [
    "Flow",
    "flow",
]
