"""Cut objects out of images, volumes and clips.

`segment` and `segment_labels` find one object and several in an image, `segment_object` and `segment_volume` in a
volume, and `segment_video` carries an object through a clip.
"""

# Choices and defaults of the library and of the command, which does not load the library for its help.
KEEP = ("touching", "all", "largest")
SPACING = (1.0, 1.0, 1.0)  # of voxels
BAND = 3.0  # shortest sides of a voxel by which refining may move the surface of a rough mask
