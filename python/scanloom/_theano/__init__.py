"""Theano's interface: variables, functions of them, loops and shared variables."""

# Variables are whole only with the methods that modules above theirs give them. So whatever of
# this package is imported first, unpickling included, these are there.
from . import methods as methods
