// GraphReader: reads one graph of an IR, the main one or a body, into a region: sorts its layers,
// follows its edges and calls the converter of every layer that a result needs. Bodies see nothing
// of the graph around them but their Parameters. What is wrong is collected: after an error the
// layer's outputs count as made, so that one mistake is reported once.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontends/openvino/converter.h"
#include "frontends/openvino/layer_ctx.h"
#include "frontends/openvino/port_index.h"

namespace scanloom::openvino {

class GraphReader {
 public:
  /// `label`: "in the body of layer 3 'loop' (Loop)", for notes of errors; empty: the main graph.
  GraphReader(Reading& reading, GraphIndex graph, ir::Builder& builder, std::string label,
              int depth);

  /// Enters the layers and edges. False: what is wrong with them has been reported.
  [[nodiscard]] bool enter();
  /// Layers of that type, in the order of the file.
  [[nodiscard]] std::vector<const Layer*> layers_of(std::string_view type) const;
  /// The layer of that id; nullptr: there is none. Precondition: enter() has given true.
  [[nodiscard]] const Layer* find(std::int64_t id) const;
  /// What a Parameter stands for.
  void bind_parameter(const Layer& parameter, Binding binding);
  /// Reads what the Results and Assigns need. False: an error has been reported.
  [[nodiscard]] bool run();
  /// What leads to a Result. Precondition: run() has given true.
  [[nodiscard]] Binding result(const Layer& result);
  /// The edge's other end: the layer and which of its outputs; nullptr: no edge leads to the port.
  [[nodiscard]] std::pair<const Layer*, std::size_t> source(const Layer& layer,
                                                            std::size_t input) const;

  void fail_at(const std::string& place, Error error);

 private:
  struct Source {
    std::size_t layer = kNone, output = 0;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  [[nodiscard]] Expected<void> enter_layers();
  [[nodiscard]] Expected<void> enter_edge(const Edge& edge);
  [[nodiscard]] bool assigns(const Layer& layer) const;
  /// The needed layers, each after those that it reads. Error: a cycle.
  [[nodiscard]] Expected<std::vector<std::size_t>> order() const;
  [[nodiscard]] std::size_t index_of(const Layer& layer) const;
  [[nodiscard]] Binding* operand(const Source& source);
  void read_layer(std::size_t index);
  Expected<void> convert(const Layer& layer, std::size_t index);

  Reading& reading_;
  const Graph& graph_;
  ir::Builder& builder_;
  std::string label_;
  int depth_;
  bool failed_ = false;
  std::unordered_map<std::int64_t, std::size_t> by_id_;
  std::vector<PortIndex> input_ports_, output_ports_;  // by layer, while edges are entered
  std::vector<std::vector<Source>> sources_;           // by layer and input port
  std::vector<std::vector<Binding>> outputs_;          // by layer and output port
};

/// Whether the layer is of that operation; the case of letters does not matter.
[[nodiscard]] bool is_type(const Layer& layer, std::string_view type);

/// The operation set that a layer names; the newest where it names none. Error: no such set.
Expected<int> opset_of(const Layer& layer);

}  // namespace scanloom::openvino
