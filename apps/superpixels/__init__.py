"""cutmatch superpixels: divide images into connected regions of nearly one colour."""
