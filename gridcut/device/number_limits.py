"""The largest integers of NumPy's types, as Python's integers."""

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
