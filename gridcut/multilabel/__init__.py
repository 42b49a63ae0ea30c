"""Energies with several labels: descent by expansions and swaps, convex costs exactly, and roof duality."""
