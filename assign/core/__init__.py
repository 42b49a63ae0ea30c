"""Problems, results and certificates, shared by all methods of assign."""
