"""The default solver of dense costs on the CPU: shortest augmenting paths on short lists of cheap columns."""
