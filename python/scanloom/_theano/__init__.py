"""Theano's interface: variables, functions of them, loops and shared variables."""

# Some methods of variables are defined by modules that use variables. Importing `methods` here
# ensures that they are set whichever module is imported first, also by unpickling.
from . import methods as methods
