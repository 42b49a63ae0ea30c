"""Grids larger than memory: region push-relabel over blocks of lines that are kept on disk; see solve.py."""
