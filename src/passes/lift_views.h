// How operators that only give their input other axes are lifted; lift.h says what that is.
#pragma once

#include "passes/lift.h"

namespace scanloom::passes {

/// Each pair: whether the node can be lifted, its sizes being known, and what does it.
bool can_lift_reshape(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies);
Expected<Lifted> lift_reshape(ir::Builder& builder, const ir::Node& node,
                              const std::vector<Lifted>& operands);
bool can_lift_slice(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies);
Expected<Lifted> lift_slice(ir::Builder& builder, const ir::Node& node,
                            const std::vector<Lifted>& operands);
bool can_lift_squeeze(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies);
Expected<Lifted> lift_squeeze(ir::Builder& builder, const ir::Node& node,
                              const std::vector<Lifted>& operands);
bool can_lift_transpose(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies);
Expected<Lifted> lift_transpose(ir::Builder& builder, const ir::Node& node,
                                const std::vector<Lifted>& operands);
bool can_lift_unsqueeze(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies);
Expected<Lifted> lift_unsqueeze(ir::Builder& builder, const ir::Node& node,
                                const std::vector<Lifted>& operands);

}  // namespace scanloom::passes
