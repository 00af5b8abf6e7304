"""Transformers and other language, speech and vision models of the package transformers, with random
weights and small configurations, through torch's exporter; and a decoder with and without a past,
merged into one model as Optimum does. Needs torch, onnxscript, onnx and transformers."""

import functools
import tempfile
import pathlib

import onnx
import torch
import transformers
from _making import make_all
from onnx import TensorProto, compose, helper

HIDDEN, LAYERS, HEADS, WORDS = 128, 2, 4, 1000
SMALL = {"hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
         "intermediate_size": 2 * HIDDEN, "vocab_size": WORDS}


class Fixed(torch.nn.Module):
    """Calls a model with named inputs and returns one of its results."""

    def __init__(self, inner, names, result, **options):
        super().__init__()
        self.inner, self.names, self.result, self.options = inner, names, result, options

    def forward(self, *inputs):
        return self.inner(**dict(zip(self.names, inputs)), **self.options)[self.result]


def export(module, inputs, path, dynamo=True):
    module.eval()
    names = [f"in{i}" for i in range(len(inputs))]
    with torch.no_grad():
        result = module(*inputs)
        torch.onnx.export(module, inputs, str(path), input_names=names, opset_version=18,
                          dynamo=dynamo, **({"external_data": False} if dynamo else {}))
    return {name: x.numpy() for name, x in zip(names, inputs)}, [result.numpy()]


def text(kind, path, result=0, length=64, **changes):
    """A model over the numbers of words."""
    torch.manual_seed(7)
    config = getattr(transformers, kind + "Config")(**(SMALL | changes))
    model = getattr(transformers, kind + "Model")(config)
    words = torch.randint(5, WORDS, (1, length))
    options = {"use_cache": False} if hasattr(config, "use_cache") else {}
    return export(Fixed(model, ["input_ids"], result, **options), (words,), path)


def seen(kind, path, shape=(1, 3, 224, 224), name="pixel_values", **changes):
    """A model over pictures or sound."""
    torch.manual_seed(7)
    config = getattr(transformers, kind + "Config")(**changes)
    model = getattr(transformers, kind + "Model")(config)
    return export(Fixed(model, [name], 0), (torch.rand(*shape),), path)


def sequence_to_sequence(kind, path, **changes):
    torch.manual_seed(7)
    config = getattr(transformers, kind + "Config")(vocab_size=WORDS, **changes)
    model = getattr(transformers, kind + "Model")(config)
    inputs = (torch.randint(5, WORDS, (1, 40)), torch.randint(5, WORDS, (1, 10)))
    module = Fixed(model, ["input_ids", "decoder_input_ids"], 0, use_cache=False)
    return export(module, inputs, path)


class Block(torch.nn.Module):
    """One causal attention layer over a past of keys and values. A stand-in for a decoder whose
    export with and without past are merged."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(WORDS, HIDDEN)
        self.project = torch.nn.Linear(HIDDEN, 3 * HIDDEN)
        self.words = torch.nn.Linear(HIDDEN, WORDS)

    def forward(self, words, past_key=None, past_value=None):
        split = lambda x: x.view(1, -1, HEADS, HIDDEN // HEADS).transpose(1, 2)  # noqa: E731
        query, key, value = map(split, self.project(self.embedding(words)).chunk(3, -1))
        if past_key is not None:
            key, value = torch.cat([past_key, key], 2), torch.cat([past_value, value], 2)
        causal = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(
            key.shape[2] - query.shape[2])
        scores = query @ key.transpose(2, 3) / (HIDDEN // HEADS) ** 0.5
        mixed = scores.masked_fill(~causal, -1e9).softmax(-1) @ value
        return self.words(mixed.transpose(1, 2).reshape(1, -1, HIDDEN)), key, value


def branch(model, inputs, prefix):
    """The graph of a model as a branch: its inputs are the values of the outer graph."""
    model = compose.add_prefix(model, prefix)
    graph = model.graph
    renamed = {prefix + name: name for name in inputs}
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
    del graph.input[:]
    return graph


def merged_decoder(path, empty_past):
    """One If: the decoder with a past, or without, chosen by use_cache_branch. Without a past, its
    inputs are still fed, with a length of 0."""
    torch.manual_seed(7)
    block = Block().eval()
    past = tuple(torch.randn(1, HEADS, 0 if empty_past else 12, HIDDEN // HEADS) for _ in range(2))
    words = torch.randint(0, WORDS, (1, 9 if empty_past else 1))
    names = ("words", "past_key", "past_value")
    graphs = []
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        for name, count in (("with", 3), ("without", 1)):
            part = pathlib.Path(folder) / f"{name}.onnx"
            example = (torch.zeros(1, 9 if count == 1 else 1, dtype=torch.long),
                       *(torch.randn(1, HEADS, 12, HIDDEN // HEADS) for _ in range(2)))[:count]
            torch.onnx.export(block, example, str(part), input_names=list(names[:count]),
                              output_names=["logits", "key", "value"], opset_version=17,
                              dynamo=False, dynamic_axes={"words": {1: "length"}, **(
                                  {"past_key": {2: "past"}, "past_value": {2: "past"}}
                                  if count == 3 else {})})
            graphs.append(branch(onnx.load(str(part)), names[:count], name + "_"))
        results = block(words, *(() if empty_past else past))
    value = helper.make_tensor_value_info
    cache = [1, HEADS, "past", HIDDEN // HEADS]
    chosen = helper.make_node("If", ["use_cache_branch"], ["logits", "key", "value"],
                              then_branch=graphs[0], else_branch=graphs[1])
    after = [1, HEADS, "total", HIDDEN // HEADS]
    graph = helper.make_graph(
        [chosen], "merged",
        [value("words", TensorProto.INT64, [1, "length"]),
         *(value(name, TensorProto.FLOAT, cache) for name in names[1:]),
         value("use_cache_branch", TensorProto.BOOL, [1])],
        [value("logits", TensorProto.FLOAT, [1, "length", WORDS]),
         *(value(name, TensorProto.FLOAT, after) for name in ("key", "value"))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              str(path))
    feeds = {"words": words, "past_key": past[0], "past_value": past[1]}
    return ({name: x.numpy() for name, x in feeds.items()} | {"use_cache_branch": [not empty_past]},
            [y.numpy() for y in results])


T5 = {"d_model": HIDDEN, "d_kv": 32, "d_ff": 256, "num_layers": LAYERS, "num_heads": HEADS}
BART = {"d_model": HIDDEN, "encoder_layers": LAYERS, "decoder_layers": LAYERS,
        "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS,
        "encoder_ffn_dim": 256, "decoder_ffn_dim": 256}
VISION = {key: value for key, value in SMALL.items() if key != "vocab_size"}

MODELS = {
    **{name: functools.partial(text, kind) for name, kind in {
        "bert": "Bert", "roberta": "Roberta", "electra": "Electra", "deberta_v2": "DebertaV2",
        "mobilebert": "MobileBert", "llama": "Llama",
        "gpt_neox": "GPTNeoX"}.items()},
    "qwen3": functools.partial(text, "Qwen3", num_key_value_heads=2, head_dim=32),
    "gemma": functools.partial(text, "Gemma", num_key_value_heads=1, head_dim=32),
    "albert": functools.partial(text, "Albert", embedding_size=64),
    "distilbert": functools.partial(text, "DistilBert", dim=HIDDEN, n_layers=LAYERS,
                                    n_heads=HEADS, hidden_dim=256),
    "gpt2": functools.partial(text, "GPT2", n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS),
    "mamba": functools.partial(text, "Mamba", state_size=16, length=12),
    "rwkv": functools.partial(text, "Rwkv", attention_hidden_size=HIDDEN, length=32),
    "vit": functools.partial(seen, "ViT", **VISION),
    "deit": functools.partial(seen, "DeiT", **VISION),
    "convnext": functools.partial(seen, "ConvNext", depths=[1, 1, 2, 1],
                                  hidden_sizes=[32, 64, 128, 256]),
    "segformer": functools.partial(seen, "Segformer"),
    "mobilevit": functools.partial(seen, "MobileViT", shape=(1, 3, 256, 256),
                                   initializer_range=0.1),
    "wav2vec2": functools.partial(seen, "Wav2Vec2", shape=(1, 8000), name="input_values", **SMALL),
    "hubert": functools.partial(seen, "Hubert", shape=(1, 8000), name="input_values", **SMALL),
    "t5": functools.partial(sequence_to_sequence, "T5", **T5),
    "bart": functools.partial(sequence_to_sequence, "Bart", **BART),
    "marian": functools.partial(sequence_to_sequence, "Marian", pad_token_id=0, **BART),
    "merged_decoder": functools.partial(merged_decoder, empty_past=False),
    "merged_decoder_empty": functools.partial(merged_decoder, empty_past=True),
}

if __name__ == "__main__":
    make_all(MODELS)
