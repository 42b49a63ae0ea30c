# To type checkers each name is the function; when run it is the package, which is called like the function.
from .denoise.restoration import Restoration, denoise
from .flow.dense_flow import Flow, flow
from .match.wide_baseline import WideMatches
from .match.wide_baseline import match_wide as match
from .refine.refinement import Refinement, refine
from .segment.segmentation import Segmentation, segment
from .session.interactive import Session
from .stereo.disparities import Disparity, stereo
from .superpixels.regions import Superpixels, superpixels
from .track.tracking import Tracks, track

__all__ = [
    "Disparity",
    "Flow",
    "Refinement",
    "Restoration",
    "Segmentation",
    "Session",
    "Superpixels",
    "Tracks",
    "WideMatches",
    "denoise",
    "flow",
    "match",
    "refine",
    "segment",
    "stereo",
    "superpixels",
    "track",
]
