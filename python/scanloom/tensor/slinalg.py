"""Functions of matrices that scipy has."""
