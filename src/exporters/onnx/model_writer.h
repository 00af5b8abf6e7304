// ModelWriter: converts a module to ONNX. It names values, walks regions and passes each node to
// the form of its operator, or to the writers of loops and branches.
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
  /// Returns an unused name.
  [[nodiscard]] std::string fresh();
  /// Returns the user's name of the value if no other value has it; otherwise a fresh name.
  [[nodiscard]] std::string value_name(ir::ValueId value);
  /// Returns the name itself, or a name derived from it if another node has it.
  [[nodiscard]] std::string node_name(const std::string& label);
  /// Returns the name for the ONNX nodes made from this one.
  [[nodiscard]] std::string label(ir::NodeId node) const;

  /// Appends all nodes of a region, whose arguments must have names.
  void nodes(ir::RegionId region, GraphWriter& graph);
  /// Adds a constant to the graph. A large one is added to the main graph instead, once.
  std::string constant(const tensor::Tensor& value, GraphWriter& graph);
  /// Declares an input or output of a graph, with the type the value has in the module.
  void input(GraphWriter& graph, const std::string& name, ir::ValueId value);
  void output(GraphWriter& graph, const std::string& name, ir::ValueId value);

  /// Adds a sentence to the error returned at the end.
  void refuse(std::string text) { missing_.insert(std::move(text)); }
  ModelParts& parts() { return parts_; }
  [[nodiscard]] bool is_outer(tensor::Dim dim) const;

 private:
  void node(ir::NodeId id, GraphWriter& graph);
  void branch(NodeEmitter& emitter);
  void write_results(const ir::Region& top);
  void check_types();
  void choose_versions();
  Expected<void> choose_file(const DataFile& file);

  const ir::Module& module_;
  const WriteOptions& options_;
  ModelParts parts_;
  GraphWriter main_;
  Names names_;                      ///< by ValueId
  std::vector<std::uint32_t> uses_;  ///< by ValueId
  std::set<std::string> taken_;      ///< names of values that are visible to users
  std::map<std::string, int> labels_;
  std::map<const void*, std::pair<tensor::Tensor, std::string>> large_;
  std::set<std::uint32_t> outer_dims_;  ///< sizes that occur in inputs, by entry of the table
  std::size_t count_ = 0;
  std::set<std::string> missing_;
};

}  // namespace scanloom::exporters::onnx
