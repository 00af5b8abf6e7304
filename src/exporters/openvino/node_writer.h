// NodeWriter: what the form of an operator sees: the node to write, and functions that make layers,
// used as formulas. A node without a form is refused, with the reason.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/openvino/layer_graph.h"
#include "ir/module.h"

namespace scanloom::exporters::openvino {

/// The state shared by the writers of all graphs of a model.
struct Writing {
  const ir::Module& module;
  WeightsWriter weights;
  std::vector<std::string> refused;  ///< each once, in the order of first occurrence

  void refuse(ir::NodeId node, std::string_view reason);
};

class NodeWriter {
 public:
  using Ints = std::vector<std::int64_t>;
  using Outputs = std::map<ir::ValueId, Output>;

  NodeWriter(Writing& writing, LayerGraph& graph, Outputs& outputs, ir::NodeId node);

  // The node.

  [[nodiscard]] const ir::Node& node() const { return writing_.module.node(node_); }
  [[nodiscard]] bool has(std::size_t i) const;
  /// Precondition: has(i).
  [[nodiscard]] Output in(std::size_t i) const { return outputs_.at(node().inputs[i]); }
  [[nodiscard]] std::vector<Output> all_inputs() const;
  [[nodiscard]] const tensor::Type& type(std::size_t i) const;
  [[nodiscard]] const tensor::Type& result_type(std::size_t i = 0) const;
  [[nodiscard]] DType dtype(std::size_t i = 0) const { return type(i).dtype; }
  /// Whether anything reads result i.
  [[nodiscard]] bool is_read(std::size_t i) const;
  /// Returns the constant value of input i; nullptr if it is computed or absent.
  [[nodiscard]] const tensor::Tensor* constant_in(std::size_t i) const;
  /// Returns the operator that computes input i; nullptr if it is an argument of the region.
  [[nodiscard]] const ir::OpDef* made_by(std::size_t i) const;
  [[nodiscard]] const tensor::Attr& attr(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const { return attr(name).integer(); }
  [[nodiscard]] bool flag(std::string_view name) const { return integer(name) != 0; }
  [[nodiscard]] const std::string& text(std::string_view name) const { return attr(name).text(); }

  void set(std::size_t i, Output value);
  void set(Output value) { set(0, value); }
  /// Result i, which nothing reads, gets no layer.
  void set_unread(std::size_t i) { outputs_[node().outputs[i]] = {}; }
  /// Reports that the node has no form. Its results are still set, so that all nodes without a form
  /// are found at once.
  void refuse(std::string_view reason);

  // Layers.

  [[nodiscard]] LayerGraph& graph() { return graph_; }
  /// Returns a writer of the same node into `body`, which must outlive it.
  [[nodiscard]] NodeWriter inside(LayerGraph& body) { return {writing_, body, outputs_, node_}; }
  /// Adds a layer with one result.
  Output layer(std::string_view type, int opset, std::vector<Output> inputs, DType result,
               Data data = {});
  std::vector<Output> layers(std::string_view type, int opset, std::vector<Output> inputs,
                             std::vector<DType> results, Data data = {});
  Output constant(const tensor::Tensor& value) { return graph_.constant(value); }
  /// Scalars and lists of i64.
  Output number(std::int64_t value);
  Output list(const Ints& values);
  /// Returns input i, a list, with its length fixed to `count`, which the model may not declare.
  Output list_of(std::size_t i, std::int64_t count);
  /// A scalar of type `dtype`.
  Output scalar(double value, DType dtype);

  Output convert(Output x, DType to);
  Output shape_of(Output x);
  /// The size of an axis as a scalar, or as a list with one element.
  Output size_of(Output x, std::int64_t axis, bool as_list = false);
  Output gather(Output x, Output indices, std::int64_t axis, DType dtype);
  Output concat(std::vector<Output> parts, std::int64_t axis, DType dtype);
  Output reshape(Output x, Output shape, DType dtype, bool special_zero = false);
  Output squeeze(Output x, const Ints& axes, DType dtype);
  Output unsqueeze(Output x, const Ints& axes, DType dtype);
  Output transpose(Output x, const Ints& order, DType dtype);
  /// Elements start, start + step, ... before stop, along one axis.
  Output slice(Output x, std::int64_t axis, Output start, Output stop, std::int64_t step,
               DType dtype);
  Output binary(std::string_view type, Output a, Output b, DType dtype, int opset = 1) {
    return layer(type, opset, {a, b}, dtype);
  }
  Output broadcast(Output x, Output shape, DType dtype);

 private:
  [[nodiscard]] std::string_view name() const;

  Writing& writing_;
  LayerGraph& graph_;
  Outputs& outputs_;
  ir::NodeId node_;
};

}  // namespace scanloom::exporters::openvino
