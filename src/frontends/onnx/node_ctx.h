// NodeCtx: a converter's view of one ONNX node, and how the converter reports what the node
// becomes. Errors from converters carry no location: the importer prepends the node's.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "frontends/onnx/graph_facts.h"
#include "frontends/onnx/open_node.h"
#include "frontends/onnx/read.h"
#include "frontends/onnx/scope.h"
#include "frontends/onnx/tensor_data.h"
#include "ir/builder.h"

namespace scanloom::onnx {

/// The state shared by everything that reads one model.
struct Reading {
  const ModelProto& model;
  const ReadOptions& options;
  Diagnostics& diagnostics;
  ir::Module& module;
  NameTable& names;
  const std::vector<GraphFacts>& facts;
  TensorReader& tensors;
};

/// The context of a node.
struct NodeSite {
  const NodeProto& node;
  const NodeFacts& facts;
  const std::vector<NameId>& captures;  ///< the outer names its bodies read, each once
  Scope& scope;
  const std::shared_ptr<Root>& root;
  ir::Builder& builder;
  ir::LocationId location;
  std::int64_t version = 0;  ///< of the operator set imported for the node's domain
};

/// An attribute as seen by a node.
struct AttributeUse {
  const AttributeProto* value = nullptr;    ///< null if absent
  const GivenAttribute* through = nullptr;  ///< the function's attribute, if the node refers to one
};

/// A graph stored in an attribute.
struct GraphUse {
  GraphIndex graph = 0;
  const GivenAttribute* given = nullptr;  ///< set if the graph was passed to the enclosing function
};

class NodeCtx {
 public:
  NodeCtx(Reading& reading, const NodeSite& site);

  [[nodiscard]] std::string_view op_type() const { return site_.node.op_type; }
  /// The version of the operator set, not of the operator.
  [[nodiscard]] std::int64_t version() const { return site_.version; }
  [[nodiscard]] Reading& reading() { return reading_; }
  [[nodiscard]] const NodeSite& site() const { return site_; }
  /// "node 'gru' (Scan-11)".
  [[nodiscard]] const std::string& describe_location() const {
    return reading_.module.location(site_.location).nodes.front();
  }
  [[nodiscard]] ir::Builder& builder() { return site_.builder; }
  [[nodiscard]] ir::Module& module() { return reading_.module; }

  // Operands.

  [[nodiscard]] int input_count() const { return static_cast<int>(site_.node.inputs.size()); }
  [[nodiscard]] bool has(int i) const;
  /// For messages: "input 1 'mask'".
  [[nodiscard]] std::string describe_input(int i) const;
  /// Returns the number of axes of x, the value of input i. Errors: it is unknown (unsupported), or
  /// less than `at_least`.
  Expected<int> rank(int i, ir::ValueId x, int at_least = 0);
  /// Returns the value of input i in this region. Error: the input is absent.
  Expected<ir::ValueId> in(int i);
  /// Like in(), but returns an invalid id if the input is absent.
  Expected<ir::ValueId> optional_in(int i);
  [[nodiscard]] const tensor::Type& type(ir::ValueId value) { return module().value(value).type; }
  /// Returns the contents of input i as far as they are known; nullptr if it is absent or computed.
  [[nodiscard]] const tensor::Tensor* constant(int i) const;
  /// Returns the integers of input i; nullopt if it is absent. Error (unsupported): not a constant.
  Expected<std::optional<std::vector<std::int64_t>>> constant_integers(int i);

  // Attributes. A missing one yields the fallback.

  [[nodiscard]] bool has_attribute(std::string_view name);
  Expected<std::int64_t> integer(std::string_view name, std::int64_t fallback);
  Expected<std::int64_t> required_integer(std::string_view name);
  Expected<double> real(std::string_view name, double fallback);
  Expected<std::string> text(std::string_view name, std::string_view fallback);
  Expected<std::vector<std::int64_t>> integers(std::string_view name);
  Expected<std::vector<double>> floats(std::string_view name);
  Expected<std::vector<std::string>> texts(std::string_view name);
  Expected<GraphUse> graph(std::string_view name);
  /// Returns nullptr if the attribute is absent. Error: it has another kind.
  Expected<const AttributeProto*> attribute(std::string_view name, AttributeKind kind);
  /// Like attribute(), for any kind. A reference to an attribute of the function yields its value
  /// in this call.
  Expected<AttributeUse> use_of(std::string_view name);
  /// Marks an attribute as read that has no effect here.
  void ignore(std::string_view name) { (void)has_attribute(name); }
  /// The names of attributes that the converter never asked for.
  [[nodiscard]] std::vector<std::string_view> unread_attributes() const;

  // Building.

  Expected<ir::ValueId> op(const ir::OpDef& op, std::vector<ir::ValueId> inputs,
                           std::vector<ir::NamedAttr> attrs = {}) {
    return builder().op(op, std::move(inputs), std::move(attrs));
  }
  Expected<ir::ValueId> cast(ir::ValueId value, DType to);
  ir::ValueId integers_value(std::span<const std::int64_t> values);
  ir::ValueId integer_value(std::int64_t value);
  /// A scalar rounded to `dtype`.
  Expected<ir::ValueId> scalar(double value, DType dtype);

  // Results.

  [[nodiscard]] int output_count() const { return static_cast<int>(site_.node.outputs.size()); }
  [[nodiscard]] bool wants(int i) const;
  /// Outputs the model does not use need not be set.
  void set_output(int i, ir::ValueId value);
  void set_output(int i, Binding binding);
  /// Makes output i the value of input 0, constant or not.
  void alias_output(int i);
  void set_constant(int i, tensor::Tensor value);
  /// Sets output 0 to a new node of `op`.
  Expected<void> emit(const ir::OpDef& op, std::vector<ir::ValueId> inputs,
                      std::vector<ir::NamedAttr> attrs = {});
  /// Defers finishing the node until its bodies have been read.
  void open(std::unique_ptr<OpenNode> node) { open_ = std::move(node); }

  [[nodiscard]] std::unique_ptr<OpenNode> take_open() { return std::move(open_); }
  [[nodiscard]] std::vector<Binding>& outputs() { return outputs_; }

 private:
  Reading& reading_;
  NodeSite site_;
  std::vector<bool> attribute_read_;
  std::vector<Binding> outputs_;
  std::unique_ptr<OpenNode> open_;
};

}  // namespace scanloom::onnx
