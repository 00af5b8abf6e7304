"""onnxruntime's interface: sessions, options, values, bindings and streams.

Nothing here imports scanloom._theano, so programs that only run models do not load it.
"""
