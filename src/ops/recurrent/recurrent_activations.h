// The activations of lstm, gru and rnn: their kinds, and how they are computed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/expected.h"
#include "tensor/attr.h"

namespace scanloom::ops {

/// The activations of ONNX.
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

/// At most three per direction: for the gates, the new content and the cell's output.
using Activations = std::array<Activation, 6>;

/// Returns the number of parameters of the activation, whose name is case-insensitive; -1: unknown.
int activation_parameters(std::string_view name);

/// Parses "Sigmoid,Tanh,Tanh", case-insensitive, with as many names per direction as `usual` has.
/// An absent attribute means `usual` for each direction. Parameters follow after colons,
/// "Affine:2:0.5"; omitted ones, "Affine::0.5", have ONNX's defaults. Errors: invalid_model (wrong
/// number of names, malformed parameter), unsupported (unknown name).
Expected<Activations> read_activations(const tensor::Attr& attr, int directions,
                                       std::span<const ActivationKind> usual);

/// Returns the first activation that differs from `usual`, as written; empty if none does.
/// Precondition: read_activations has read the attribute.
std::string_view unusual_activation(const tensor::Attr& attr,
                                    std::span<const ActivationKind> usual);

float activate(const Activation& activation, float x) noexcept;
double activate(const Activation& activation, double x) noexcept;

}  // namespace scanloom::ops
