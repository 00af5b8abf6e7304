// The activations of lstm, gru and rnn: which there are, and what they compute.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/expected.h"
#include "tensor/attr.h"

namespace scanloom::ops {

/// Those of ONNX.
enum class ActivationKind : std::uint8_t {
  sigmoid,
  tanh,
  relu,
  elu,
  hard_sigmoid,
  leaky_relu,
  softplus,
  softsign,
  affine,
  scaled_tanh,
  thresholded_relu,
};

struct Activation {
  ActivationKind kind = ActivationKind::sigmoid;
  double alpha = 0, beta = 0;
};

/// At most three per direction: of the gates, of the new content, of the cell's output.
using Activations = std::array<Activation, 6>;

/// How many parameters the activation of that name has, which in any case; -1: it does not exist.
int activation_parameters(std::string_view name);

/// Reads "Sigmoid,Tanh,Tanh", as many names per direction as `usual` has, in any case; an absent
/// attribute means `usual` for each direction. Parameters follow behind colons, "Affine:2:0.5";
/// those that are left out, "Affine::0.5", are ONNX's defaults.
/// Errors: invalid_model (another number of names, a malformed parameter), unsupported (another
/// name).
Expected<Activations> read_activations(const tensor::Attr& attr, int directions,
                                       std::span<const ActivationKind> usual);

/// The first that differs from `usual`, as it is written; empty: none does. Precondition:
/// read_activations has read the attribute.
std::string_view unusual_activation(const tensor::Attr& attr,
                                    std::span<const ActivationKind> usual);

float activate(const Activation& activation, float x) noexcept;
double activate(const Activation& activation, double x) noexcept;

}  // namespace scanloom::ops
