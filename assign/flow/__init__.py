"""Minimum-cost flows: two methods, the network that they solve, and the certificate of their results."""
