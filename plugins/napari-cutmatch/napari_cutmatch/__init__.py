"""Segmentation from painted marks in napari, by the sessions of cutmatch (`apps.Session`)."""
