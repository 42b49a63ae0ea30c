"""Flow files for tests."""

from apps.common.writing import write_bytes
from apps.optical_flow.flow_files import encoded_flow


def write_flow(path, flow, valid=None):
    """Write a flow (H, W, 2), known where `valid` is True; the suffix selects the format."""
    return write_bytes(path, encoded_flow(path, flow, valid))
