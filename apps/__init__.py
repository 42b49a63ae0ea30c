"""Image programs on top of the solvers, one folder per program.  Only this package reads images and prints.

Every image program is also a function: ``from apps import segment``, or ``apps.segment(image, box=box)``.

=================  ==============================================================================================
`segment`          cut an object out of an image, from strokes, a trimap or a box
`refine`           the exact outlines of masks of other programs
`flow`             the motion of every pixel between two frames
`match`            matched points of two images of a scene, and their geometry
`track`            link points of many frames into tracks
`follow`           follow given points through frames
`stereo`           the disparities of a rectified pair
`superpixels`      connected regions of nearly one colour
`denoise`          restore a noisy or damaged image
=================  ==============================================================================================

`Session` is the interactive form of `segment`: strokes one after the other.  `segment_labels`, `segment_boxes`,
`segment_object`, `segment_volume` and `segment_video` cut several objects, volumes and clips; `flow_sequence` is `flow`
of all frames of a sequence.

Each takes arrays and returns a result, whose class is a name of `apps`, too; `help(apps.segment)` has the parameters.
The modules are loaded on first use: importing `apps` imports nothing else.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
