"""Networks of Keras and functions of TensorFlow with loops, through tf2onnx. Needs tensorflow and
tf2onnx. Weights are random."""

import functools
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tf2onnx  # noqa: E402
from _making import make_all  # noqa: E402
from keras import applications, layers  # noqa: E402
from keras import Input, Model, Sequential, utils  # noqa: E402

OPSET = 17


def export(function, inputs, path):
    """Writes a function of tensors; returns inputs and TensorFlow's results."""
    names = [f"in{i}" for i in range(len(inputs))]
    signature = [tf.TensorSpec(x.shape, x.dtype, name) for name, x in zip(names, inputs)]
    traced = tf.function(function, input_signature=signature)
    model, _ = tf2onnx.convert.from_function(
        traced, signature, opset=OPSET, output_path=str(path))
    # Constants that the function captures may become inputs, which nobody can feed.
    added = [value.name for value in model.graph.input if value.name not in names]
    if added:
        raise ValueError(f"tf2onnx adds {len(added)} inputs, such as {added[0]}")
    results = tf.nest.flatten(traced(*map(tf.constant, inputs)))
    return dict(zip(names, inputs)), [y.numpy() for y in results]


def random(*shape):
    return np.random.default_rng(3).random(shape, np.float32)


def network(build, shape, path):
    utils.set_random_seed(7)
    model = build()
    return export(lambda x: model(x, training=False), [random(1, *shape)], path)


def picture(name, path, size=224, **options):
    build = functools.partial(getattr(applications, name), weights=None, **options)
    return network(build, (size, size, 3), path)


def over_time(layer, path):
    return network(lambda: Sequential([Input((60, 40)), layer(), layers.Dense(10)]), (60, 40),
                   path)


def attention():
    x = Input((50, 64))
    y = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 16)(x, x))
    y = layers.LayerNormalization()(y + layers.Dense(64)(layers.Dense(128, "gelu")(y)))
    return Model(x, layers.Dense(5, "softmax")(layers.GlobalAveragePooling1D()(y)))


def pictures_over_time():
    return Sequential([Input((8, 24, 24, 3)), layers.ConvLSTM2D(8, 3, return_sequences=True),
                       layers.ConvLSTM2D(4, 3), layers.Flatten(), layers.Dense(3)])


def autoencoder():
    return Sequential([
        Input((64, 64, 1)), layers.Conv2D(16, 3, 2, "same", activation="relu"),
        layers.Conv2D(32, 3, 2, "same", activation="relu"),
        layers.Conv2DTranspose(16, 3, 2, "same", activation="relu"), layers.UpSampling2D(2),
        layers.Conv2D(1, 3, padding="same", activation="sigmoid")])


def separable():
    return Sequential([
        Input((96, 64, 1)), layers.Conv2D(16, 3, 2), layers.BatchNormalization(),
        layers.SeparableConv2D(32, 3, activation="swish"), layers.DepthwiseConv2D(3),
        layers.AveragePooling2D(2), layers.GlobalMaxPooling2D(), layers.Dense(12, "softmax")])


def logistic_map(x):
    def following(count, value):
        return count + 1, 3.7 * value * (1 - value)

    return tf.while_loop(lambda count, value: count < 100, following, [tf.constant(0), x])[1]


def smoothed(x):
    return tf.scan(lambda state, row: 0.9 * state + 0.1 * row, x)


def collected(x):
    rows = tf.TensorArray(tf.float32, size=tf.shape(x)[0])
    state = tf.zeros_like(x[0])
    for i in tf.range(tf.shape(x)[0]):
        state = tf.tanh(state + x[i])
        rows = rows.write(i, state)
    return rows.stack()


def chosen(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x), lambda: tf.cos(x))


def spectrum(x):
    return tf.abs(tf.signal.stft(x, 256, 128))


def calls(function, *shape):
    return lambda path: export(function, [random(*shape)], path)


MODELS = {
    "mobilenet_v2": functools.partial(picture, "MobileNetV2"),
    "mobilenet_v3": functools.partial(picture, "MobileNetV3Small"),
    "efficientnet_b0": functools.partial(picture, "EfficientNetB0"),
    "nasnet_mobile": functools.partial(picture, "NASNetMobile"),
    "xception": functools.partial(picture, "Xception", size=299),
    "densenet121": functools.partial(picture, "DenseNet121"),
    "lstm": functools.partial(over_time, lambda: layers.LSTM(64, return_sequences=True)),
    "gru": functools.partial(over_time, lambda: layers.GRU(64)),
    "simple_rnn": functools.partial(over_time, lambda: layers.SimpleRNN(64)),
    "bidirectional": functools.partial(
        over_time, lambda: layers.Bidirectional(layers.LSTM(32, return_sequences=True))),
    "conv_lstm": functools.partial(network, pictures_over_time, (8, 24, 24, 3)),
    "attention": functools.partial(network, attention, (50, 64)),
    "autoencoder": functools.partial(network, autoencoder, (64, 64, 1)),
    "separable": functools.partial(network, separable, (96, 64, 1)),
    "while_loop": calls(logistic_map, 100),
    "scan": calls(smoothed, 200, 16),
    "tensor_array": calls(collected, 100, 8),
    "cond": calls(chosen, 64),
    "spectrum": calls(spectrum, 4000),
}

if __name__ == "__main__":
    make_all(MODELS)
