"""Image programs on top of the solvers, one folder per program.  Only this package reads images and prints.

Every image program is also a function: ``from apps import segment``, or ``apps.segment(image, box=box)``.  The same
name is the package with everything else of the program, such as ``from apps.segment import segment_labels``.

=================  ==============================================================================================
`segment`          cut an object out of an image, from strokes, a trimap or a box (`apps.segment.segment`)
`refine`           the exact outlines of masks of other programs (`apps.refine.refine`)
`flow`             the motion of every pixel between two frames (`apps.flow.flow`)
`match`            matched points of two images of a scene, and their geometry (`apps.match.match_wide`)
`track`            link points of many frames into tracks (`apps.track.track`)
`stereo`           the disparities of a rectified pair (`apps.stereo.stereo`)
`superpixels`      connected regions of nearly one colour (`apps.superpixels.superpixels`)
`denoise`          restore a noisy or damaged image (`apps.denoise.denoise`)
=================  ==============================================================================================

`Session` is the interactive form of `segment`: strokes one after the other (`apps.session`).

Each takes arrays and returns a result; `help(apps.segment.segment)` has its parameters.  The classes of the results are
names of `apps`, too: `Segmentation`, `Refinement`, `Flow`, `WideMatches`, `Tracks`, `Disparity`, `Superpixels`,
`Restoration`.  The packages are loaded on first use: importing `apps` imports nothing else.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submodules=["denoise", "flow", "match", "refine", "segment", "stereo", "superpixels", "track"],
    submod_attrs={
        "denoise.restoration": ["Restoration"],
        "flow.dense_flow": ["Flow"],
        "match.wide_baseline": ["WideMatches"],
        "refine.refinement": ["Refinement"],
        "segment.segmentation": ["Segmentation"],
        "session.interactive": ["Session"],
        "stereo.disparities": ["Disparity"],
        "superpixels.regions": ["Superpixels"],
        "track.tracking": ["Tracks"],
    },
)
