"""Compute disparities of a rectified pair of images: `stereo`."""

# A default of the library and of the command, which does not load the library for its help.
SMOOTHNESS = 13.0  # grey levels: weight of a one-pixel step between neighbours of equal colour
