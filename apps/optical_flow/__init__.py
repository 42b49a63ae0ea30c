"""Compute the dense optical flow between two frames: `flow`."""

# Choices and defaults of the library and of the command, which does not load the library for its help.
LINKERS = ("assignment", "windows")
