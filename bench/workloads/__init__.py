"""The workloads. Each file has a model, its feeds, a float64 reference and the C loop."""
