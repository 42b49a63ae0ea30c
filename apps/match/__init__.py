"""cutmatch match: match points of two images of one scene."""
