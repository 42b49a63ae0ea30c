"""Match points between two images of a scene: `match`."""

# Choices and defaults of the library and of the command, which does not load the library for its help.
MODELS = ("auto", "homography", "fundamental")
INLIER_THRESHOLD = 3.0  # pixels
