// The activations of an LSTM: which there are, and what they compute.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/expected.h"
#include "tensor/attr.h"

namespace scanloom::ops {

/// Those of ONNX that take no parameters, and those that do with the parameters' defaults.
enum class Activation : std::uint8_t {
  sigmoid,
  tanh,
  relu,
  elu,
  hard_sigmoid,
  leaky_relu,
  softplus,
  softsign,
};

/// Of the gates, of the cell's input and of the cell's output, once per direction.
using Activations = std::array<Activation, 6>;

/// Reads "Sigmoid,Tanh,Tanh", three names per direction in any case; an attribute that is absent
/// means these. Errors: invalid_model (another number of names), unsupported (another name).
Expected<Activations> read_activations(const tensor::Attr& attr, int directions);

float activate(Activation activation, float x) noexcept;
double activate(Activation activation, double x) noexcept;

}  // namespace scanloom::ops
