#include "frontends/openvino/variable_hints.h"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>

#include "base/ascii.h"
#include "frontends/openvino/attributes.h"
#include "frontends/openvino/port_index.h"
#include "frontends/openvino/types.h"
#include "tensor/openvino_dtype.h"

namespace scanloom::openvino {
namespace {

/// An operation in which some inputs have the element type of the outputs.
struct Sharing {
  std::string_view type;
  std::size_t first = 0, last = 0;  ///< those inputs
};

constexpr std::size_t kAll = static_cast<std::size_t>(-1);

constexpr Sharing kSharing[] = {
    {"Abs"},
    {"Add", 0, kAll},
    {"Assign"},
    {"Broadcast"},
    {"Clamp"},
    {"Concat", 0, kAll},
    {"CumSum"},
    {"Divide", 0, kAll},
    {"Elu"},
    {"Exp"},
    {"FloorMod", 0, kAll},
    {"Gather"},
    {"GatherND"},
    {"Gelu"},
    {"HSwish"},
    {"Identity"},
    {"Log"},
    {"MatMul", 0, kAll},
    {"Maximum", 0, kAll},
    {"Minimum", 0, kAll},
    {"Mish"},
    {"Mod", 0, kAll},
    {"Multiply", 0, kAll},
    {"Negative"},
    {"PRelu", 0, kAll},
    {"Pad"},
    {"Power", 0, kAll},
    {"ReadValue"},
    {"ReduceMax"},
    {"ReduceMean"},
    {"ReduceMin"},
    {"ReduceProd"},
    {"ReduceSum"},
    {"Relu"},
    {"Reshape"},
    {"Reverse"},
    {"Roll"},
    {"ScatterUpdate"},
    {"Select", 1, 2},
    {"Sigmoid"},
    {"Sign"},
    {"Slice"},
    {"SoftPlus"},
    {"Softmax"},
    {"Split"},
    {"Sqrt"},
    {"SquaredDifference", 0, kAll},
    {"Squeeze"},
    {"StridedSlice"},
    {"Subtract", 0, kAll},
    {"Swish"},
    {"Tanh"},
    {"Tile"},
    {"Transpose"},
    {"Unsqueeze"},
    {"VariadicSplit"},
};

const Sharing* sharing_of(const Layer& layer) {
  const auto* const found = std::ranges::find_if(
      kSharing, [&](const Sharing& one) { return equal_ignoring_case(one.type, layer.type); });
  return found == std::end(kSharing) ? nullptr : found;
}

std::optional<DType> known(std::string_view word) {
  return is_dynamic_type(word) ? std::nullopt : tensor::dtype_from_openvino(trimmed(word));
}

/// Returns the element type of a layer's outputs, if the layer itself gives it.
std::optional<DType> dtype_said(const Layer& layer) {
  const Attributes attributes(layer);
  for (const char* const name : {"element_type", "destination_type", "variable_type"})
    if (const auto dtype = known(attributes.text(name))) return dtype;
  // A layer whose outputs have different types shares no element type.
  for (const Port& port : layer.outputs)
    if (const auto dtype = known(port.precision)) return dtype;
  return std::nullopt;
}

/// The other ends of a graph's edges.
class Links {
 public:
  explicit Links(const Graph& graph)
      : sources_(graph.layers.size()), readers_(graph.layers.size()) {
    std::unordered_map<std::int64_t, std::size_t> by_id;
    for (std::size_t i = 0; i < graph.layers.size(); ++i) by_id.emplace(graph.layers[i].id, i);
    for (std::size_t i = 0; i < graph.layers.size(); ++i)
      sources_[i].resize(graph.layers[i].inputs.size(), kAll);
    std::vector<PortIndex> ports;
    for (const Layer& layer : graph.layers) ports.emplace_back(layer.inputs);
    for (const Edge& edge : graph.edges) {
      const auto from = by_id.find(edge.from_layer), to = by_id.find(edge.to_layer);
      if (from == by_id.end() || to == by_id.end()) continue;
      const std::optional<std::size_t> input = ports[to->second].find(edge.to_port);
      if (!input) continue;
      sources_[to->second][*input] = from->second;
      readers_[from->second].emplace_back(to->second, *input);
    }
  }

  /// Returns kAll if there is no edge.
  [[nodiscard]] std::size_t source(std::size_t layer, std::size_t input) const {
    return input < sources_[layer].size() ? sources_[layer][input] : kAll;
  }
  /// Returns the layers that read it, and their inputs.
  [[nodiscard]] const std::vector<std::pair<std::size_t, std::size_t>>& readers(
      std::size_t layer) const {
    return readers_[layer];
  }

 private:
  std::vector<std::vector<std::size_t>> sources_;  // by layer and input
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> readers_;
};

/// Walks between layers with the same element type, nearest first.
class Search {
 public:
  Search(const Document& document, std::span<const LayerPosition> layers)
      : document_(document), layers_(layers) {}

  VariableHints run() {
    VariableHints hints;
    for (const LayerPosition& position : layers_) {
      const Layer& layer = layer_of(position);
      const std::size_t source = links(position.graph).source(position.layer, 0);
      if (source == kAll) continue;
      const Layer& first = document_.graphs[position.graph].layers[source];
      const bool is_constant = is_type(first, "Const") || is_type(first, "Constant");
      if (!is_type(layer, "ReadValue") || !is_constant) continue;
      hints.dtype = dtype_said(first);
      const auto sizes = Attributes(first).integers("shape");
      if (sizes) hints.sizes = *sizes;
      return hints;
    }
    hints.dtype = nearest_dtype();
    hints.sizes = port_sizes();
    return hints;
  }

 private:
  [[nodiscard]] const Layer& layer_of(const LayerPosition& position) const {
    return document_.graphs[position.graph].layers[position.layer];
  }

  const Links& links(GraphIndex graph) {
    const auto found = links_.find(graph);
    return found != links_.end() ? found->second
                                 : links_.emplace(graph, document_.graphs[graph]).first->second;
  }

  std::optional<DType> nearest_dtype() {
    for (const LayerPosition& position : layers_) enter(position.graph, position.layer);
    // Layers further away have little to do with the variable.
    constexpr int kMaxLayers = 10000;
    for (int visited = 0; !open_.empty() && visited < kMaxLayers; ++visited) {
      const LayerPosition position = open_.front();
      open_.pop_front();
      const Layer& layer = layer_of(position);
      if (const auto dtype = dtype_said(layer)) return dtype;
      const Links& ends = links(position.graph);
      if (const Sharing* const sharing = sharing_of(layer)) {
        const std::size_t last = std::min(sharing->last, layer.inputs.size());
        for (std::size_t i = sharing->first; i <= last; ++i)
          enter(position.graph, ends.source(position.layer, i));
      }
      for (const auto& [reader, input] : ends.readers(position.layer)) {
        const Sharing* const sharing = sharing_of(document_.graphs[position.graph].layers[reader]);
        if (sharing != nullptr && input >= sharing->first && input <= sharing->last)
          enter(position.graph, reader);
      }
    }
    return std::nullopt;
  }

  void enter(GraphIndex graph, std::size_t layer) {
    if (layer == kAll) return;
    std::vector<bool>& seen = seen_[graph];
    seen.resize(document_.graphs[graph].layers.size());
    if (seen[layer]) return;
    seen[layer] = true;
    open_.push_back({graph, layer});
  }

  /// Returns the sizes of the ports of the variable's layers, outputs first. Ports without sizes
  /// may have any.
  std::optional<std::vector<std::int64_t>> port_sizes() {
    for (const LayerPosition& position : layers_)
      for (const auto* const ports : {&layer_of(position).outputs, &layer_of(position).inputs})
        for (const Port& port : *ports)
          if (!port.dims.empty()) return port.dims;
    for (const LayerPosition& position : layers_) {
      const std::size_t source = links(position.graph).source(position.layer, 0);
      if (source == kAll) continue;
      const Layer& maker = document_.graphs[position.graph].layers[source];
      if (maker.outputs.size() == 1 && !maker.outputs[0].dims.empty()) return maker.outputs[0].dims;
    }
    return std::nullopt;
  }

  const Document& document_;
  std::span<const LayerPosition> layers_;
  std::map<GraphIndex, Links> links_;
  std::map<GraphIndex, std::vector<bool>> seen_;
  std::deque<LayerPosition> open_;
};

}  // namespace

VariableHints hints_around(const Document& document, std::span<const LayerPosition> layers) {
  return Search(document, layers).run();
}

}  // namespace scanloom::openvino
