"""What the cost-scaling methods share: the network, one discharge, the two heuristics, and exact prices at the end."""
