// BodyProgram: a loop body as one element program over equal lanes, or why it is not one. The rules
// that passes ask too are in ops/element_program.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/refusal.h"
#include "ir/infer.h"
#include "ir/module.h"
#include "ir/op_def.h"
#include "jit/interface.h"
#include "ops/element_program.h"
#include "tensor/scalar.h"

namespace scanloom::plan {

/// Builds the program node by node.
class BodyProgram {
 public:
  BodyProgram(const ir::Module& module, const ir::Inference& inference)
      : module_(module), inference_(inference) {}

  tensor::ScalarProgram program;
  std::vector<ir::ValueId> constants;  ///< of several elements; inputs after the captured ones

  [[nodiscard]] std::int64_t lanes() const { return lanes_.lanes(); }
  /// Returns why the body is not one element program; nullopt when it is.
  std::optional<Refusal> build(const ir::Region& body, std::size_t captured);

  /// Returns the program as source for the compiler. The caller fills in its operands.
  [[nodiscard]] jit::LoopSource source(std::string name, bool has_keep_going) &&;

 private:
  [[nodiscard]] const tensor::Type& type(ir::ValueId id) const {
    return inference_.types[id.index];
  }
  std::optional<Refusal> add_input(ir::ValueId id);
  std::optional<Refusal> add_constants(const ir::Region& body);
  std::optional<Refusal> admit(ir::ValueId id);
  ir::Reg read(ir::ValueId id);
  std::optional<Refusal> append(ir::NodeId id);
  std::optional<Refusal> append_view(ir::NodeId id, ir::Reg input);
  [[nodiscard]] ir::NodeId producer(ir::ValueId id) const { return module_.value(id).producer; }

  const ir::Module& module_;
  const ir::Inference& inference_;
  ops::EqualLanes<std::int64_t> lanes_;
  std::map<std::uint32_t, ir::Reg> registers_;  // by ValueId
};

}  // namespace scanloom::plan
