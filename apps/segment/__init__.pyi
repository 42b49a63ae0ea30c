from .multilabel import Objects, segment_labels, segment_volume
from .segmentation import Segmentation, segment, segment_marked

KEEP: tuple[str, ...]
CONNECTIVITIES: tuple[int, ...]
SPACING: tuple[float, ...]

__all__ = [
    "Objects",
    "Segmentation",
    "segment",
    "segment_labels",
    "segment_marked",
    "segment_volume",
]
