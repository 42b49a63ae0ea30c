"""Dense assignment on a GPU: see solve.py."""
