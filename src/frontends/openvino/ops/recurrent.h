// Helpers shared by the recurrent cells and sequences: attributes, and the order of the gates.
#pragma once

#include <string>
#include <vector>

#include "frontends/openvino/ops/layer_composer.h"

namespace scanloom::openvino {

/// The order of the LSTM gates in the IR's operators and cells.
inline constexpr std::string_view kLstmGates = "iofc";

struct CellActivation {
  std::string name;  ///< sigmoid, tanh, relu or hardsigmoid
  double alpha = 0.2, beta = 0.5;
};

struct RecurrentAttributes {
  std::int64_t hidden = 0;
  double clip = 0;  ///< 0: none
  std::vector<CellActivation> activations;
  bool is_usual = true;  ///< whether the activations are the default ones
};

/// Reads hidden_size, clip, activations, activations_alpha and activations_beta; the last two hold
/// one entry per activation. Errors: sizes out of range, a number of names other than that of
/// `usual`, an unknown activation (unsupported).
Expected<RecurrentAttributes> recurrent_attributes(LayerCtx& ctx,
                                                   const std::vector<std::string>& usual);

/// Applies the activation to x, after limiting x to [-clip, clip] if there is a clip.
ir::ValueId activated(ops::Composer& c, const RecurrentAttributes& attrs, std::size_t activation,
                      ir::ValueId x);

/// Returns the order of the gates in the weights of an LSTM: "fico", unless opset 1 says otherwise.
Expected<std::string> lstm_weights_format(LayerCtx& ctx);

/// Returns weights or biases whose gates are in the order `format` along `axis`, reordered to
/// kLstmGates.
ir::ValueId reordered_gates(ops::Composer& c, ir::ValueId weights, std::int64_t axis,
                            const std::string& format, std::int64_t hidden);

/// Error, naming both numbers: the size of an axis of input i is known to differ from `wanted`.
Expected<void> check_size(LayerCtx& ctx, int i, int axis, std::int64_t wanted);
Expected<void> check_rank(LayerCtx& ctx, int i, int wanted);

}  // namespace scanloom::openvino
