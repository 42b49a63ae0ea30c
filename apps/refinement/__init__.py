"""Refine the masks of other programs at the resolution of the image: `refine`."""

KINDS = ("auto", "levels", "labels", "objects")  # of masks; the command does not load the library for its help
