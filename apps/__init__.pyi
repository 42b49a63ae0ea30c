from .denoising.restoration import Restoration, denoise
from .optical_flow.dense_flow import Flow, flow
from .optical_flow.sequence_flow import flow_sequence
from .point_matching.wide_baseline import WideMatches, match
from .refinement.refinement import Refinement, refine
from .regions.regions import Superpixels, superpixels
from .segmentation.instances import Instances, segment_boxes
from .segmentation.margins import Margins
from .segmentation.multilabel import Objects, segment_labels, segment_volume
from .segmentation.segmentation import Segmentation, segment
from .segmentation.video import VideoFrame, segment_video
from .segmentation.volume_object import VolumeObject, refine_mask, segment_object
from .session.session import Session
from .stereo_matching.disparities import Disparity, stereo
from .tracking.follow import Trajectories, follow
from .tracking.tracking import Detections, Tracks, track

__all__ = [
    "Detections",
    "Disparity",
    "Flow",
    "Instances",
    "Margins",
    "Objects",
    "Refinement",
    "Restoration",
    "Segmentation",
    "Session",
    "Superpixels",
    "Tracks",
    "Trajectories",
    "VideoFrame",
    "VolumeObject",
    "WideMatches",
    "denoise",
    "flow",
    "flow_sequence",
    "follow",
    "match",
    "refine",
    "refine_mask",
    "segment",
    "segment_boxes",
    "segment_labels",
    "segment_object",
    "segment_video",
    "segment_volume",
    "stereo",
    "superpixels",
    "track",
]
