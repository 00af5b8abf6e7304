"""Jobs over files: the parts of scanloom.batch."""
