// Sizes that only the run knows: shape inference of one node on its actual operands, and the kernel
// for them.
#pragma once

#include <span>
#include <vector>

#include "base/expected.h"
#include "ir/ids.h"
#include "kernels/kernel.h"
#include "tensor/call.h"
#include "tensor/shape.h"

namespace scanloom::plan {

struct DynamicCall;
struct Plan;

/// The sizes of all outputs of `node` for these inputs, whose data may be read. Thread safe.
/// Errors name the node.
Expected<std::vector<tensor::Shape>> resolve_shapes(const Plan& plan, ir::NodeId node,
                                                    std::span<const tensor::Operand> inputs);

/// The first kernel that takes these operands as they lie; why_not is set where none does.
kernels::Prepared prepare_kernel(const Plan& plan, const DynamicCall& dynamic,
                                 std::span<const tensor::Operand> inputs,
                                 std::span<const tensor::Operand> outputs);

/// resolve_shapes for a copy of the one input.
Expected<std::vector<tensor::Shape>> sizes_of_input(const Plan& plan, ir::NodeId node,
                                                    std::span<const tensor::Operand> inputs);

/// The sizes of the stacked results of a loop that takes no step, from its actual operands.
/// Errors name the node.
Expected<std::vector<tensor::Shape>> empty_stacks(const Plan& plan, ir::NodeId loop,
                                                  std::span<const tensor::Operand> inputs);

}  // namespace scanloom::plan
