"""onnxruntime's interface: sessions, options, values, bindings and streams.

Nothing in here imports scanloom._theano: people who run models load nothing of it.
"""
