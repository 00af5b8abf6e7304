// Activations that ONNX Runtime fuses into products and convolutions, named by an attribute.
#pragma once

#include <span>
#include <string_view>

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

/// Returns the activation `name` of x; x itself if the name is empty. `parameters` are alpha, beta
/// or, for Clip, the limits; missing ones have the defaults of the ONNX operator of that name.
/// Error (unsupported): an unknown name.
ir::ValueId fused_activation(Composer& c, ir::ValueId x, std::string_view name,
                             std::span<const double> parameters);

/// Like fused_activation(), by the attributes `activation`, `activation_alpha`, `activation_beta`
/// and `activation_gamma`.
ir::ValueId fused_activation(Composer& c, ir::ValueId x);

}  // namespace scanloom::onnx
