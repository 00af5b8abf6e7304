"""Theano's interface: variables, functions of them, loops and shared variables."""
