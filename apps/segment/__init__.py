"""cutmatch segment: cut objects out of images and volumes."""
