"""Disparities of a pair of pictures."""
