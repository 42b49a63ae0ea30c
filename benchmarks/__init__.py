"""Measuring: `python -m benchmarks NAME`.  No code of the product lives here."""
