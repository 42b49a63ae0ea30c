from .instances import Instances, segment_boxes
from .multilabel import Objects, segment_labels, segment_volume
from .segmentation import Segmentation, segment, segment_marked
from .video import VideoFrame, segment_video
from .volume_object import VolumeObject, refine_mask, segment_object

KEEP: tuple[str, ...]
CONNECTIVITIES: tuple[int, ...]
SPACING: tuple[float, ...]
BAND: float

__all__ = [
    "Instances",
    "Objects",
    "Segmentation",
    "VideoFrame",
    "VolumeObject",
    "refine_mask",
    "segment",
    "segment_boxes",
    "segment_labels",
    "segment_marked",
    "segment_object",
    "segment_video",
    "segment_volume",
]
