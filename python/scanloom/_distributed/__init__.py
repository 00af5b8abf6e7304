"""Sums over processes: the parts of scanloom.distributed."""
