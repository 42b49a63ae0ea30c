"""Link particles or points over many frames: `track`."""

# Choices and defaults of the library and of the command, which does not load the library for its help.
DETECTORS = ("auto", "bright", "dark", "corners")
THRESHOLD = 4.0  # minimum brightness in multiples of the noise
LINKERS = ("assignment", "global")
