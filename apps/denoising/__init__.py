"""Restore noisy and damaged images: `denoise`."""

# Choices and defaults of the library and of the command, which does not load the library for its help.
DATA = ("quadratic", "linear")
