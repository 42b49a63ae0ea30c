"""The default method on the CPU, in parts: solve.py tells the whole."""
