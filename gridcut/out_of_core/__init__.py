"""Grids larger than memory: region push-relabel over blocks of lines that are stored on disk; see sweeps.py."""
