"""Restore noisy and damaged images: `denoise`."""

# Choices and defaults of the library and of the command, which does not load the library for its help.
DATA = ("quadratic", "linear")
SMOOTHNESS_TERM = "linear"
LEVELS = 64  # grey levels of truncated energies
