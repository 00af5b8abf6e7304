// The body of a loop as one element program over equal lanes, where it is that.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/infer.h"
#include "ir/module.h"
#include "ir/op_def.h"
#include "jit/interface.h"
#include "tensor/scalar.h"

namespace scanloom::plan {

/// Built node by node.
class BodyProgram {
 public:
  BodyProgram(const ir::Module& module, const ir::Inference& inference)
      : module_(module), inference_(inference) {}

  tensor::ScalarProgram program;
  std::int64_t lanes = 1;
  std::vector<ir::ValueId> constants;  ///< of several elements: inputs after the captured ones

  /// Returns why the body is not one element program; empty when it is.
  std::string build(const ir::Region& body, std::size_t captured);

  /// What is built, as the compiler wants it; its operands are to be described.
  [[nodiscard]] jit::LoopSource source(std::string name, bool has_keep_going) &&;

 private:
  [[nodiscard]] const tensor::Type& type(ir::ValueId id) const {
    return inference_.types[id.index];
  }
  std::string add_input(ir::ValueId id);
  std::string add_constants(const ir::Region& body);
  std::string admit(ir::ValueId id);
  ir::Reg read(ir::ValueId id);
  std::string append(ir::NodeId id);
  std::string append_view(const ir::Node& node, ir::Reg input, const std::string& name);

  const ir::Module& module_;
  const ir::Inference& inference_;
  std::map<std::uint32_t, ir::Reg> registers_;  // by ValueId
};

}  // namespace scanloom::plan
