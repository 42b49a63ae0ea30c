"""Moves of several labels on a GPU: arrays, labels and flows stay there, and so does the choice of the next move."""
