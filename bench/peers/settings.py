"""Settings of peers, made once per process."""

threads = 1  # set before the first peer runs
