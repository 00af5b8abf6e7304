// Forms of recurrent layers. Few runtimes support the batch-first layout, so it is written with
// transpositions around the layer.
#include <algorithm>

#include "exporters/onnx/forms.h"

namespace scanloom::exporters::onnx::forms {
namespace {

constexpr std::size_t kLengths = 4, kFirstState = 5;

/// Returns ONNX's spelling: runtimes are case-sensitive, the module is not.
std::string spelled(const std::string& name) {
  constexpr const char* kNames[] = {"Affine",   "Elu",     "HardSigmoid",    "LeakyRelu",
                                    "Relu",     "Sigmoid", "ScaledTanh",     "Softplus",
                                    "Softsign", "Tanh",    "ThresholdedRelu"};
  const auto same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
  for (const std::string_view each : kNames)
    if (std::ranges::equal(each, name, same)) return std::string(each);
  return name;
}

/// Parses "Affine:2:0.5,Tanh": names, each followed by its parameters after colons.
void add_activations(const NodeEmitter& node, Attributes& attributes) {
  if (!node.attr("activations").present()) return;
  const std::string& text = node.attr("activations").text();
  std::vector<std::string> names;
  std::vector<double> alphas, betas;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string each = text.substr(begin, end - begin);
    const std::size_t first = each.find(':');
    names.push_back(spelled(each.substr(0, first)));
    if (first != std::string::npos) {
      const std::size_t second = each.find(':', first + 1);
      const std::string alpha = each.substr(first + 1, second - first - 1);
      if (!alpha.empty()) alphas.push_back(std::stod(alpha));
      if (second != std::string::npos) betas.push_back(std::stod(each.substr(second + 1)));
    }
    begin = end + 1;
  }
  attributes.push_back(attribute("activations", names));
  if (!alphas.empty()) attributes.push_back(attribute("activation_alpha", alphas));
  if (!betas.empty()) attributes.push_back(attribute("activation_beta", betas));
}

/// Results are Y, then the states; unread ones are left out.
void layer(NodeEmitter& node, const char* type, Attributes attributes, std::size_t states) {
  attributes.push_back(node.attribute_as("direction", "direction"));
  attributes.push_back(node.attribute_as("hidden_size", "hidden_size"));
  if (node.attr("clip").present()) attributes.push_back(node.attribute_as("clip", "clip"));
  add_activations(node, attributes);
  if (node.has(kLengths) && node.dtype(kLengths) != DType::i32)
    node.set_in(kLengths, node.cast(node.in(kLengths), DType::i32));
  Names outputs(node.outputs().begin(),
                node.outputs().begin() + 1 + static_cast<std::ptrdiff_t>(states));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (!node.is_read(i)) outputs[i].clear();
  const bool batch_first = node.attr("layout").integer() != 0;
  if (!batch_first) {
    while (!outputs.empty() && outputs.back().empty()) outputs.pop_back();
    return node.emit(type, node.inputs(), outputs, attributes);
  }
  node.set_in(0, node.transpose(node.in(0), {1, 0, 2}));
  for (std::size_t i = kFirstState; i < kFirstState + states; ++i)
    if (node.has(i)) node.set_in(i, node.transpose(node.in(i), {1, 0, 2}));
  Names made;
  for (const std::string& output : outputs) made.push_back(output.empty() ? "" : node.fresh());
  while (!made.empty() && made.back().empty()) made.pop_back();
  node.emit(type, node.inputs(), made, attributes);
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i].empty()) continue;
    // Y [steps, directions, batch, hidden], states [directions, batch, hidden].
    const std::vector<std::int64_t> order =
        i == 0 ? std::vector<std::int64_t>{2, 0, 1, 3} : std::vector<std::int64_t>{1, 0, 2};
    node.emit("Transpose", {made[i]}, {outputs[i]}, {attribute("perm", order)});
  }
}

}  // namespace

void gru(NodeEmitter& node) {
  constexpr std::size_t kReset = 2;
  if (node.is_read(kReset)) return node.refuse("whose reset gate is read");
  layer(node, "GRU", {node.attribute_as("linear_before_reset", "linear_before_reset")}, 1);
}

void lstm(NodeEmitter& node) {
  layer(node, "LSTM", {node.attribute_as("input_forget", "input_forget")}, 2);
}

void rnn(NodeEmitter& node) { layer(node, "RNN", {}, 1); }

}  // namespace scanloom::exporters::onnx::forms
