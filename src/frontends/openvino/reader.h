// GraphReader: reads one graph of an IR, the main one or a body, into a region. It sorts the
// layers, follows the edges and calls the converter of every layer that a result needs. Bodies see
// only their Parameters of the enclosing graph. Errors are collected: after an error the layer's
// outputs count as produced, so one mistake is reported once. Independent errors are still found,
// including those in bodies and in layers no result needs.
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
  const Converter* converter = nullptr;  ///< null: unknown operation, which is reported elsewhere
  int version = 0;
};

/// Returns the converter of a layer and the version of its operation. Errors: an operation set that
/// is unknown or older than the operation, a wrong number of inputs.
Expected<VersionedConverter> versioned_converter(const Layer& layer);

class GraphReader {
 public:
  /// `label`: "in the body of layer 3 'loop' (Loop)", for notes of errors; empty for the main
  /// graph.
  GraphReader(Reading& reading, GraphIndex graph, ir::Builder& builder, std::string label,
              int depth);

  /// Enters the layers and edges. Errors are reported and make run() fail.
  void enter();
  /// Returns the layers of that type, in the order of the file.
  [[nodiscard]] std::vector<const Layer*> layers_of(std::string_view type) const;
  /// Returns the layer with that id; nullptr if there is none. Precondition: enter() has been
  /// called.
  [[nodiscard]] const Layer* find(std::int64_t id) const;
  /// Binds a Parameter to a value.
  void bind_parameter(const Layer& parameter, Binding binding);
  /// Binds the Parameter to an absent operand.
  void leave_out(const Layer& parameter) { left_out_.insert(index_of(parameter)); }
  /// Reads everything the Results and Assigns need. False if an error was reported.
  [[nodiscard]] bool run();
  /// Reads the layers that depend on no Parameter, only to find errors; the results must not be
  /// used.
  void run_unbound();
  /// Returns the binding that leads to a Result. Precondition: run() has been called.
  [[nodiscard]] Binding result(const Layer& result);
  /// Returns the other end of the edge: the layer and its output; nullptr if no edge leads to the
  /// port.
  [[nodiscard]] std::pair<const Layer*, std::size_t> source(const Layer& layer,
                                                            std::size_t input) const;

  void fail_at(const std::string& location, Error error);

 private:
  struct Source {
    std::size_t layer = kNone, output = 0;
  };
  /// No edge; an invalid edge, which has been reported; an edge from a NullNode.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1), kBroken = kNone - 1,
                               kLeftOut = kNone - 2;

  void enter_edge(const Edge& edge);
  [[nodiscard]] Expected<Source> source_of(const Edge& edge) const;
  [[nodiscard]] bool assigns(const Layer& layer) const;
  /// Returns the needed layers in topological order. A cycle is reported and cut.
  [[nodiscard]] std::vector<std::size_t> order();
  void report_cycle(std::span<const std::pair<std::size_t, std::size_t>> path, std::size_t closing);
  [[nodiscard]] std::size_t index_of(const Layer& layer) const;
  [[nodiscard]] Binding* operand(const Source& source);
  void read_layer(std::size_t index);
  void read_parameter(std::size_t index);
  /// Reports errors in a layer that do not depend on its operands.
  Expected<VersionedConverter> examine(const Layer& layer);
  /// Reports errors in a layer that no result needs.
  void examine_unread(const Layer& layer);
  /// Reports the errors in the bodies of a layer that cannot be read itself.
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

/// Returns the operation set named by a layer; the newest if it names none. Error: no such set.
Expected<int> opset_of(const Layer& layer);

}  // namespace scanloom::openvino
