"""Minimum-cost flows: the method, the network that it solves, and the certificates of its results and errors."""
