"""A driver that a test can kill: runs one job and prints its report.

    python job_driver.py ENGINE ADDRESS MODEL INPUTS OUTPUTS
"""

import sys

import clusters
import scanloom.batch

if __name__ == "__main__":
    engine, address, model, inputs, outputs = sys.argv[1:]
    clusters.be_patient(engine)
    workers = 2 if engine == "local" else None
    print(scanloom.batch.run(model, inputs, outputs, engine=engine, address=address or None, workers=workers))
