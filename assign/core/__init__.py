"""Problems, results and certificates: what all methods of assign share."""
