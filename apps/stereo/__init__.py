"""cutmatch stereo: disparities of a rectified pair."""
