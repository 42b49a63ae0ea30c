"""Tiles: the default on a GPU."""
