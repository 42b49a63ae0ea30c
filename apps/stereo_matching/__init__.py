"""Compute disparities of a rectified pair of images: `stereo`."""

# Choices and defaults of the library and of the command, which does not load the library for its help.
COSTS = ("birchfield-tomasi", "absolute")
SMOOTHNESS = 13.0  # grey levels: weight of a one-pixel step between neighbours of equal colour
