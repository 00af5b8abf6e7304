"""Functions of JAX, with its loops and branches, through jax2onnx. Needs jax2onnx."""

import jax
import jax.numpy as jnp
import jax2onnx
import numpy as np
from _making import make_all
from jax import lax


def random(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def calls(function, *inputs):
    """The model of a function with these inputs."""

    def make(path):
        model = jax2onnx.to_onnx(function, [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in inputs])
        path.write_bytes(model.SerializeToString())
        names = [value.name for value in model.graph.input]
        results = jax.tree.leaves(function(*inputs))
        return dict(zip(names, inputs)), [np.asarray(y) for y in results]

    return make


WEIGHTS = [random(64, 128) * 0.1, random(128, 128) * 0.1, random(128, 10) * 0.1]
RECURRENT = random(48, 32) * 0.2
KERNEL = random(16, 3, 3, 3) * 0.2
FACTOR = random(12, 12)


def perceptron(x):
    for weight in WEIGHTS[:-1]:
        x = jax.nn.relu(x @ weight)
    return jax.nn.softmax(x @ WEIGHTS[-1])


def convolution(x):
    y = lax.conv_general_dilated(x, KERNEL, (2, 2), "SAME")
    return jnp.mean(jax.nn.gelu(y), (2, 3))


def attention(x):
    query, key, value = (x @ weight for weight in (WEIGHTS[0], WEIGHTS[0], WEIGHTS[0]))
    return jax.nn.softmax(query @ key.T / 11.3) @ value


def recurrence(x):
    def step(state, row):
        state = jnp.tanh(jnp.concatenate([row, state]) @ RECURRENT)
        return state, state.sum()

    return lax.scan(step, jnp.zeros(32), x)


def filtered(x):
    return lax.scan(lambda s, row: (0.9 * s + 0.1 * row, s), jnp.zeros(x.shape[1]), x)


def root(x):
    return lax.while_loop(lambda y: jnp.max(jnp.abs(y * y - x)) > 1e-4,
                          lambda y: 0.5 * (y + x / y), jnp.ones_like(x))


def powers(x):
    return lax.fori_loop(0, 20, lambda i, y: jnp.tanh(y @ FACTOR * 0.2), x)


def branch(x):
    return lax.cond(jnp.sum(x) > 0, jnp.sin, jnp.cos, x)


def sums(x):
    return jnp.cumsum(x, axis=0), lax.cummax(x, axis=1)


def prefixes(x):
    return lax.associative_scan(jnp.add, x)


def selected(x):
    values, order = lax.top_k(x, 5)
    return values, jnp.take_along_axis(x, order, -1), jnp.sort(x, -1)


def slices(x):
    return lax.dynamic_update_slice(x, lax.dynamic_slice(x, (3, 2), (4, 4)) * 2, (0, 0))


def gradient(x):
    return jax.grad(lambda y: jnp.sum(jnp.tanh(y @ FACTOR) ** 2))(x)


def batched(x):
    return jax.vmap(lambda row: jnp.outer(row, row).sum(0))(x)


MODELS = {
    "perceptron": calls(perceptron, random(8, 64)),
    "convolution": calls(convolution, random(1, 3, 64, 64)),
    "attention": calls(attention, random(40, 64)),
    "recurrence": calls(recurrence, random(100, 16)),
    "filter": calls(filtered, random(500, 8)),
    "while_loop": calls(root, np.abs(random(100)) + 0.5),
    "fori_loop": calls(powers, random(6, 12)),
    "cond": calls(branch, random(64)),
    "cumulative": calls(sums, random(50, 20)),
    "associative_scan": calls(prefixes, random(64, 8)),
    "top_k": calls(selected, random(10, 40)),
    "slices": calls(slices, random(16, 16)),
    "gradient": calls(gradient, random(5, 12)),
    "vmap": calls(batched, random(20, 30)),
}

if __name__ == "__main__":
    make_all(MODELS)
