"""Compute the dense optical flow between two frames: `flow`."""

from apps.common.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Flow": "apps.flow.dense_flow",
        "flow": "apps.flow.flow_command",
    },
)
