"""Divide images into connected regions of nearly one colour: `superpixels`."""

# Choices and defaults of the library and of the command, which does not load the library for its help.
REGIONS = 500
REGULARITY = 4.5  # colour difference in CIELAB
