"""Multi-label energies: descent by expansions and swaps, exact minima for convex costs, total variation, and roof duality."""
