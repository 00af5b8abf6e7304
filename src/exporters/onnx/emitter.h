// Emitter: appends ONNX nodes to a graph and names their results. NodeEmitter does so for one node
// of the module, whose operands and results it knows. The forms in forms.h are written with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/onnx/proto_writer.h"
#include "ir/module.h"

namespace scanloom::exporters::onnx {

class ModelWriter;

/// `label` names the nodes; all but the first also get a number.
class Emitter {
 public:
  Emitter(ModelWriter& model, GraphWriter& graph, std::string label)
      : model_(model), graph_(graph), label_(std::move(label)) {}

  [[nodiscard]] ModelWriter& model() const { return model_; }
  [[nodiscard]] GraphWriter& graph() { return graph_; }
  [[nodiscard]] const std::string& label() const { return label_; }
  void need_opset(int opset) { graph_.parts().need_opset(opset); }

  void emit(std::string_view type, const Names& inputs, const Names& outputs,
            const Attributes& attributes = {}, std::string_view domain = {});
  /// Appends a node with one result and returns its name.
  std::string op(std::string_view type, const Names& inputs, const Attributes& attributes = {});
  [[nodiscard]] std::string fresh();

  std::string constant(const tensor::Tensor& value);
  std::string list(const std::vector<std::int64_t>& values);
  std::string integer(std::int64_t value);
  /// A scalar rounded to `dtype`.
  std::string number(double value, DType dtype);

  std::string cast(const std::string& x, DType to);
  std::string shape(const std::string& x) { return op("Shape", {x}); }
  /// The size of an axis as a scalar, or as a list with one element.
  std::string dim(const std::string& x, std::int64_t axis);
  std::string dim_list(const std::string& x, std::int64_t axis);
  std::string transpose(const std::string& x, const std::vector<std::int64_t>& perm);
  /// Turns a tensor with one element, of any rank, into a scalar or a list.
  std::string scalar(const std::string& x);
  std::string one_element_list(const std::string& x);
  std::string reverse(const std::string& x, std::int64_t axis);
  /// Concatenates lists.
  std::string join(const Names& lists);

 private:
  ModelWriter& model_;
  GraphWriter& graph_;
  std::string label_;
};

class NodeEmitter : public Emitter {
 public:
  NodeEmitter(ModelWriter& model, GraphWriter& graph, ir::NodeId id);

  [[nodiscard]] const ir::Node& node() const { return node_; }
  [[nodiscard]] ir::NodeId id() const { return id_; }
  /// Names of the operands. Absent ones are empty, and dropped at the end.
  [[nodiscard]] const Names& inputs() const { return inputs_; }
  [[nodiscard]] const Names& outputs() const { return outputs_; }
  [[nodiscard]] bool has(std::size_t i) const { return i < inputs_.size() && !inputs_[i].empty(); }
  [[nodiscard]] const std::string& in(std::size_t i) const { return inputs_[i]; }
  [[nodiscard]] const std::string& out(std::size_t i = 0) const { return outputs_[i]; }
  [[nodiscard]] const tensor::Type& in_type(std::size_t i) const;
  [[nodiscard]] const tensor::Type& out_type(std::size_t i = 0) const;
  [[nodiscard]] DType dtype(std::size_t i = 0) const { return in_type(i).dtype; }
  [[nodiscard]] const tensor::Attr& attr(std::string_view name) const;
  /// Returns the value of an operand that is a constant; otherwise nullptr.
  [[nodiscard]] const tensor::Tensor* known(std::size_t i) const;
  [[nodiscard]] bool is_read(std::size_t output) const;

  /// Casts operand i to i64 if it has another type: ONNX takes most indices only as i64.
  void take_as_i64(std::size_t i);
  void set_in(std::size_t i, std::string name) { inputs_[i] = std::move(name); }
  void resize_inputs(std::size_t count) { inputs_.resize(count); }
  void add_input(std::string name) { inputs_.push_back(std::move(name)); }

  /// All attributes that are present, under the names they have here.
  [[nodiscard]] Attributes attributes() const;
  /// Writes the attribute `name` under the name it has in ONNX.
  [[nodiscard]] std::string attribute_as(std::string_view name, std::string_view onnx_name) const;

  /// Appends a node with the current operands and the results of the node.
  void finish(std::string_view type, const Attributes& attributes = {},
              std::string_view domain = {}) {
    emit(type, inputs_, outputs_, attributes, domain);
  }
  /// Reports that the node has no form, and why.
  void refuse(std::string why = {});

 private:
  const ir::Node& node_;
  ir::NodeId id_;
  Names inputs_, outputs_;
};

}  // namespace scanloom::exporters::onnx
