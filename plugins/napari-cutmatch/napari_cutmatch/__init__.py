"""Segmentation from painted strokes in napari, by the sessions of cutmatch (`apps.Session`)."""
