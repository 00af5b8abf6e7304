// GraphReader: reads one graph of an IR, the main one or a body, into a region: sorts its layers,
// follows its edges and calls the converter of every layer that a result needs. Bodies see nothing
// of the graph around them but their Parameters. What is wrong is collected: after an error the
// layer's outputs count as made, so that one mistake is reported once, and everything that does not
// follow from it is still found, in bodies and in layers that no result needs, too.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontends/openvino/converter.h"
#include "frontends/openvino/layer_ctx.h"
#include "frontends/openvino/port_index.h"

namespace scanloom::openvino {

struct VersionedConverter {
  const Converter* converter = nullptr;  ///< null: no such operation, which is reported elsewhere
  int version = 0;
};

/// The converter of a layer and the version of its operation. Errors: an operation set that is not
/// known or older than the operation, other numbers of inputs than the operation takes.
Expected<VersionedConverter> versioned_converter(const Layer& layer);

class GraphReader {
 public:
  /// `label`: "in the body of layer 3 'loop' (Loop)", for notes of errors; empty: the main graph.
  GraphReader(Reading& reading, GraphIndex graph, ir::Builder& builder, std::string label,
              int depth);

  /// Enters the layers and edges; what is wrong with them is reported, and makes run() fail.
  void enter();
  /// Layers of that type, in the order of the file.
  [[nodiscard]] std::vector<const Layer*> layers_of(std::string_view type) const;
  /// The layer of that id; nullptr: there is none. Precondition: enter() has been called.
  [[nodiscard]] const Layer* find(std::int64_t id) const;
  /// What a Parameter stands for.
  void bind_parameter(const Layer& parameter, Binding binding);
  /// The Parameter stands for an operand that is left out.
  void leave_out(const Layer& parameter) { left_out_.insert(index_of(parameter)); }
  /// Reads what the Results and Assigns need. False: an error has been reported.
  [[nodiscard]] bool run();
  /// Reads what needs no Parameter, for the sake of errors; nothing of it can be used.
  void run_unbound();
  /// What leads to a Result. Precondition: run() has been called.
  [[nodiscard]] Binding result(const Layer& result);
  /// The edge's other end: the layer and which of its outputs; nullptr: no edge leads to the port.
  [[nodiscard]] std::pair<const Layer*, std::size_t> source(const Layer& layer,
                                                            std::size_t input) const;

  void fail_at(const std::string& location, Error error);

 private:
  struct Source {
    std::size_t layer = kNone, output = 0;
  };
  /// No edge; an edge that is wrong, which has been reported; an edge from a NullNode.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1), kBroken = kNone - 1,
                               kLeftOut = kNone - 2;

  void enter_edge(const Edge& edge);
  [[nodiscard]] Expected<Source> source_of(const Edge& edge) const;
  [[nodiscard]] bool assigns(const Layer& layer) const;
  /// The needed layers, each after those that it reads. A cycle is reported, and cut open.
  [[nodiscard]] std::vector<std::size_t> order();
  void report_cycle(std::span<const std::pair<std::size_t, std::size_t>> path, std::size_t closing);
  [[nodiscard]] std::size_t index_of(const Layer& layer) const;
  [[nodiscard]] Binding* operand(const Source& source);
  void read_layer(std::size_t index);
  void read_parameter(std::size_t index);
  /// Reports what is wrong with a layer by itself, whatever its operands are.
  Expected<VersionedConverter> examine(const Layer& layer);
  /// Reports what is wrong with a layer that nothing needs.
  void examine_unread(const Layer& layer);
  /// Reports what can be found in the bodies of a layer that cannot be read itself.
  void explore(const Layer& layer);
  void poison(std::size_t index);
  Expected<void> convert(const VersionedConverter& reader, const Layer& layer, std::size_t index);

  Reading& reading_;
  const Graph& graph_;
  ir::Builder& builder_;
  std::string label_;
  int depth_;
  GraphIndex index_;
  bool failed_ = false, has_cycle_ = false;
  std::unordered_map<std::int64_t, std::size_t> by_id_;
  std::vector<PortIndex> input_ports_, output_ports_;  // by layer, while edges are entered
  std::vector<std::vector<Source>> sources_;           // by layer and input port
  std::vector<std::vector<Binding>> outputs_;          // by layer and output port
  std::set<std::size_t> left_out_;                     // Parameters
  Binding broken_ = Binding::poison(), absent_;
};

/// The operation set that a layer names; the newest where it names none. Error: no such set.
Expected<int> opset_of(const Layer& layer);

}  // namespace scanloom::openvino
