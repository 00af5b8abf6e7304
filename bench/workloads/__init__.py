"""The loops that people run: per file the model, its feeds, a reference in float64, the C loop."""
