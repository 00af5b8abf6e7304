// Dynamic tensors at run time: shape inference of one node on its actual operands, and the choice
// of a kernel for them. Used by the runtime.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "ir/ids.h"
#include "ir/op_def.h"
#include "kernels/kernel.h"
#include "plan/binding.h"
#include "tensor/call.h"
#include "tensor/object.h"
#include "tensor/shape.h"

namespace scanloom::plan {

/// Returns the operand as a Tensor: over the same memory if it is row-major, otherwise a copy.
Expected<tensor::Tensor> as_tensor(const tensor::Operand& operand);

/// Runs a node on dynamic tensors. Errors name the node.
Expected<void> run_object(const Plan& plan, ir::NodeId node, std::span<tensor::ObjectRef> inputs,
                          std::span<tensor::ObjectRef> outputs, tensor::MemoryAccount& memory);

/// Returns the sizes of all outputs of `node` for these inputs. Values of other inputs are read
/// only if sizes do not follow from types and the values `deciding`. Thread safe. Errors name the
/// node.
Expected<ResultSizes> resolve_shapes(const Plan& plan, ir::NodeId node,
                                     std::span<const tensor::Operand> inputs,
                                     DecidingValues deciding);

/// Sizes and strides of a call's inputs, and the elements of those whose values determine sizes.
using CallKey = std::vector<std::int64_t>;

/// Sets `key`. Returns false if there are too many deciding values for a key to be worthwhile.
bool describe_inputs(std::span<const tensor::Operand> inputs, DecidingValues deciding,
                     CallKey& key);

/// Whether these results need no computation.
bool makes_nothing(const Plan& plan, const DynamicCall& dynamic,
                   std::span<const tensor::Operand> outputs);

/// Returns the first kernel that accepts these operands with their strides; `refusal` is set if
/// none does. Constants are packed once for all calls of the plan.
kernels::Prepared prepare_kernel(const Binding& binding, const DynamicCall& dynamic,
                                 std::span<const tensor::Operand> inputs,
                                 std::span<const tensor::Operand> outputs);

/// Same as resolve_shapes, for a copy of the only input.
Expected<ResultSizes> sizes_of_input(const Plan& plan, ir::NodeId node,
                                     std::span<const tensor::Operand> inputs,
                                     DecidingValues deciding);

/// Returns the result of a slice as a view of its first operand; nullopt if the slice is not valid,
/// for which resolve_shapes reports the error.
std::optional<ir::ViewOf> view_of_slice(std::span<const tensor::Operand> inputs);

/// Returns the sizes of the stacked results of a loop that takes no step, from its actual operands.
/// Results that are not tensors have no defined sizes. Errors name the node.
Expected<std::vector<tensor::Shape>> empty_stacks(const Plan& plan, ir::NodeId loop,
                                                  std::span<const tensor::Tensor> inputs);

}  // namespace scanloom::plan
