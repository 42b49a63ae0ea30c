# To type checkers each name is the function; when run it is the package, which is called like the function.
from .denoise.restoration import denoise
from .flow.dense_flow import flow
from .match.wide_baseline import match_wide as match
from .refine.refinement import refine
from .segment.segmentation import segment
from .session.interactive import Session
from .stereo.disparities import stereo
from .superpixels.regions import superpixels
from .track.tracking import track

__all__ = [
    "Session",
    "denoise",
    "flow",
    "match",
    "refine",
    "segment",
    "stereo",
    "superpixels",
    "track",
]
