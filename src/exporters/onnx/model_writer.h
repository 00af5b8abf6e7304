// ModelWriter: a module on its way to ONNX. It names values, walks regions and hands each node to
// the form of its operator, to loops or to branches.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "exporters/onnx/emitter.h"
#include "exporters/onnx/proto_writer.h"
#include "ir/module.h"

namespace scanloom::exporters::onnx {

class ModelWriter {
 public:
  ModelWriter(const ir::Module& module, const WriteOptions& options);

  Expected<WrittenModel> write(const DataFile& file);

  [[nodiscard]] const ir::Module& module() const { return module_; }
  [[nodiscard]] const tensor::Type& type(ir::ValueId value) const {
    return module_.value(value).type;
  }
  [[nodiscard]] std::string& name(ir::ValueId value) { return names_[value.index]; }
  [[nodiscard]] std::uint32_t uses(ir::ValueId value) const { return uses_[value.index]; }
  /// A name that nothing else has.
  [[nodiscard]] std::string fresh();
  /// The user's name of the value, where it has one that no other value has; a name of no value
  /// otherwise.
  [[nodiscard]] std::string value_name(ir::ValueId value);
  /// The name itself, or one made of it, that no node has.
  [[nodiscard]] std::string node_name(const std::string& label);
  /// What nodes made of this one are called.
  [[nodiscard]] std::string label(ir::NodeId node) const;

  /// Appends all nodes of a region, whose arguments have names.
  void nodes(ir::RegionId region, GraphWriter& graph);
  /// The value as a constant: in the graph itself, or where it is large in the main graph, once.
  std::string constant(const tensor::Tensor& value, GraphWriter& graph);
  /// Input and output of a graph: of the type that the value has in the module.
  void input(GraphWriter& graph, const std::string& name, ir::ValueId value);
  void output(GraphWriter& graph, const std::string& name, ir::ValueId value);

  /// A sentence for the error in the end.
  void refuse(std::string text) { missing_.insert(std::move(text)); }
  ModelParts& parts() { return parts_; }
  [[nodiscard]] bool is_outer(tensor::Dim dim) const;

 private:
  void node(ir::NodeId id, GraphWriter& graph);
  void branch(NodeEmitter& emitter);
  void write_results(const ir::Region& top);
  void check_types();
  Expected<void> choose_file(const DataFile& file);

  const ir::Module& module_;
  const WriteOptions& options_;
  ModelParts parts_;
  GraphWriter main_;
  Names names_;                      ///< by ValueId
  std::vector<std::uint32_t> uses_;  ///< by ValueId
  std::set<std::string> taken_;      ///< names of values that users see
  std::map<std::string, int> labels_;
  std::map<const void*, std::pair<tensor::Tensor, std::string>> large_;
  std::set<std::uint32_t> outer_dims_;  ///< sizes that inputs have, by entry of the table
  std::size_t count_ = 0;
  std::set<std::string> missing_;
};

}  // namespace scanloom::exporters::onnx
