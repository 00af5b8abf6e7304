// Emitter: appends ONNX nodes to a graph, and makes the names of what they compute. NodeEmitter
// does it for one node of the module, whose operands and results it knows; forms.h lists what is
// written with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/onnx/proto_writer.h"
#include "ir/module.h"

namespace scanloom::exporters::onnx {

class ModelWriter;

/// `label` is the name of the nodes; those behind the first have a number, too.
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
  /// The one result of a node.
  std::string op(std::string_view type, const Names& inputs, const Attributes& attributes = {});
  [[nodiscard]] std::string fresh();

  std::string constant(const tensor::Tensor& value);
  std::string list(const std::vector<std::int64_t>& values);
  std::string integer(std::int64_t value);
  /// A scalar rounded to the type.
  std::string number(double value, DType dtype);

  std::string cast(const std::string& x, DType to);
  std::string shape(const std::string& x) { return op("Shape", {x}); }
  /// A size as a scalar, or as a list of one.
  std::string dim(const std::string& x, std::int64_t axis);
  std::string dim_list(const std::string& x, std::int64_t axis);
  std::string transpose(const std::string& x, const std::vector<std::int64_t>& perm);
  /// One element of any rank as a scalar, or as a list.
  std::string scalar(const std::string& x);
  std::string one_element_list(const std::string& x);
  std::string reverse(const std::string& x, std::int64_t axis);
  /// Lists, put end to end.
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
  /// Names of the operands, without absent ones at the end; those in between are empty.
  [[nodiscard]] const Names& inputs() const { return inputs_; }
  [[nodiscard]] const Names& outputs() const { return outputs_; }
  [[nodiscard]] bool has(std::size_t i) const { return i < inputs_.size() && !inputs_[i].empty(); }
  [[nodiscard]] const std::string& in(std::size_t i) const { return inputs_[i]; }
  [[nodiscard]] const std::string& out(std::size_t i = 0) const { return outputs_[i]; }
  [[nodiscard]] const tensor::Type& in_type(std::size_t i) const;
  [[nodiscard]] const tensor::Type& out_type(std::size_t i = 0) const;
  [[nodiscard]] DType dtype(std::size_t i = 0) const { return in_type(i).dtype; }
  [[nodiscard]] const tensor::Attr& attr(std::string_view name) const;
  /// The value of an operand that is a constant; nullptr otherwise.
  [[nodiscard]] const tensor::Tensor* known(std::size_t i) const;
  [[nodiscard]] bool is_read(std::size_t output) const;

  /// Operand i with one cast more where it is not i64: ONNX takes most indices as that alone.
  void take_as_i64(std::size_t i);
  void set_in(std::size_t i, std::string name) { inputs_[i] = std::move(name); }
  void resize_inputs(std::size_t count) { inputs_.resize(count); }
  void add_input(std::string name) { inputs_.push_back(std::move(name)); }

  /// All attributes that are present, under their own names.
  [[nodiscard]] Attributes attributes() const;
  /// The attribute of that name as one of ONNX's.
  [[nodiscard]] std::string attribute_as(std::string_view name, std::string_view onnx_name) const;

  /// A node of that type with these operands and the results of the node.
  void finish(std::string_view type, const Attributes& attributes = {},
              std::string_view domain = {}) {
    emit(type, inputs_, outputs_, attributes, domain);
  }
  /// There is no form, and why.
  void refuse(std::string why = {});

 private:
  const ir::Node& node_;
  ir::NodeId id_;
  Names inputs_, outputs_;
};

}  // namespace scanloom::exporters::onnx
