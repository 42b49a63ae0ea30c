"""The grid, its arrays and the certificate: what all methods of gridcut share on the host."""
