"""LinearAttention, its gate, CausalConvWithState and GemmaRotaryEmbedding of com.microsoft."""

from __future__ import annotations

import numpy as np
import pytest
from microsoft_cases import DOMAIN, agree, by_onnxruntime, case, feeds_of, model_of
from single_node import SYMBOLIC, close, randoms, refused, run, run_every_way

B, S, N, G, K, V = 2, 5, 4, 2, 3, 4


def linear(rule, past=False, **attributes):
    inputs = [randoms(B, S, N * K), randoms(B, S, G * K, seed=1) / 2, randoms(B, S, G * V, seed=2),
              randoms(B, G, K, V, seed=3) if past else None,
              -np.abs(randoms(B, S, G, seed=4)) if "gated" in rule else None,
              np.abs(randoms(B, S, G, seed=5)) / 3 if "delta" in rule else None]
    while inputs[-1] is None:
        inputs.pop()
    return case(f"{rule}{', past' * past}", "LinearAttention", *inputs, outputs=2, scale=4,
                q_num_heads=N, kv_num_heads=G, update_rule=rule, **attributes)


CASES = [
    *(linear(rule, past) for rule in ("linear", "gated", "delta", "gated_delta")
      for past in (False, True)),
    linear("linear", state_window=0, chunk_size=2),
    case("gate", "LinearAttentionGate", randoms(B, S, N), randoms(N), randoms(N, seed=1),
         randoms(B, S, N, seed=2), outputs=2),
    case("gate without an update rate", "LinearAttentionGate", randoms(B, S, N), randoms(N),
         randoms(N, seed=1)),
    case("convolution", "CausalConvWithState", randoms(B, N, S), randoms(N, 1, 3), outputs=2,
         ndim=1, constants=[1]),
    case("convolution, past", "CausalConvWithState", randoms(B, N, S), randoms(N, 1, 3), randoms(N),
         randoms(B, N, 2), outputs=2, activation="silu", constants=[1]),
]


@SYMBOLIC
@pytest.mark.parametrize("one", CASES, ids=[one.name for one in CASES])
def test_results_are_those_of_onnxruntime(one, symbolic):
    proto, fed = model_of(one, symbolic), feeds_of(one)
    wanted = by_onnxruntime(proto, fed)
    for result, right in zip(run_every_way(proto, fed), wanted):
        agree(result, right, one.scale)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_rotations_of_gemma(dtype):
    angles = randoms(B, S, K)
    inputs = [angles, *(randoms(B, N, S, K, seed=i).astype(dtype) for i in range(4))]
    results = run("GemmaRotaryEmbedding", inputs, 2, domain=DOMAIN, opset=1)
    for result, (x, turned) in zip(results, (inputs[1:3], inputs[3:5])):
        wanted = x * np.cos(angles)[:, None] + turned * np.sin(angles)[:, None]
        close(result, wanted.astype(dtype), 2)


def test_mistakes_are_errors():
    given = {"domain": DOMAIN, "opset": 1}
    one = linear("linear")
    refused(one.op, one.inputs, "'state_window' is 2: only 0", 2, state_window=2, **one.attributes,
            **given)
    refused("CausalConvWithState", [randoms(B, N, S), randoms(N, 1, 3)], "'dilation' is 2", 2,
            dilation=2, **given)
    refused("LinearAttentionGate", [randoms(B, S, N), randoms(N), randoms(N)], "needs input 3", 2,
            **given)
    refused("GemmaRotaryEmbedding", [randoms(B, S)] + [randoms(B, N, S, K)] * 4, "3 are needed", 2,
            **given)
