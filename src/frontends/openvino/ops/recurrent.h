// What the recurrent cells and sequences have in common: attributes, and the order of the gates.
#pragma once

#include <string>
#include <vector>

#include "frontends/openvino/ops/layer_composer.h"

namespace scanloom::openvino {

/// The IR's operators and cells name gates in this order: i, o, f, c of LSTM.
inline constexpr std::string_view kLstmGates = "iofc";

struct CellActivation {
  std::string name;  ///< sigmoid, tanh, relu or hardsigmoid
  double alpha = 0.2, beta = 0.5;
};

struct RecurrentAttributes {
  std::int64_t hidden = 0;
  double clip = 0;  ///< 0: none
  std::vector<CellActivation> activations;
  bool is_usual = true;  ///< the activations are those that are taken where none are named
};

/// Attributes hidden_size, clip, activations, activations_alpha and activations_beta, which hold
/// one entry per activation. Errors: sizes out of range, another number of names than `usual` has,
/// an activation that is not known (unsupported).
Expected<RecurrentAttributes> recurrent_attributes(LayerCtx& ctx,
                                                   const std::vector<std::string>& usual);

/// x, limited to [-clip, clip] where there is a clip, through the activation.
ir::ValueId activated(ops::Composer& c, const RecurrentAttributes& attrs, std::size_t activation,
                      ir::ValueId x);

/// The order of the gates in the weights of an LSTM: "fico", which opset 1 may say otherwise.
Expected<std::string> lstm_weights_format(LayerCtx& ctx);

/// Weights, or biases, whose gates stand in the order `format` along `axis`, in the order of
/// kLstmGates.
ir::ValueId reordered_gates(ops::Composer& c, ir::ValueId weights, std::int64_t axis,
                            const std::string& format, std::int64_t hidden);

/// Error, naming both numbers: the size of an axis of input i is known and another one.
Expected<void> check_size(LayerCtx& ctx, int i, int axis, std::int64_t wanted);
Expected<void> check_rank(LayerCtx& ctx, int i, int wanted);

}  // namespace scanloom::openvino
