"""cutmatch track: follow particles or points through a sequence."""
