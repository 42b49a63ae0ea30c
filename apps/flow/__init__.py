"""cutmatch flow: dense optical flow of two frames."""
