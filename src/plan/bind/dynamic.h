// Sizes that only the run knows: shape inference of one node on its actual operands, and the kernel
// for them.
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

/// The operand as a Tensor: over the same memory where it is row-major, otherwise a copy.
Expected<tensor::Tensor> as_tensor(const tensor::Operand& operand);

/// Runs a node on dynamic tensors. Errors name the node.
Expected<void> run_object(const Plan& plan, ir::NodeId node, std::span<tensor::ObjectRef> inputs,
                          std::span<tensor::ObjectRef> outputs, tensor::MemoryAccount& memory);

/// The sizes of all outputs of `node` for these inputs, whose values are looked at where sizes do
/// not follow from types and the values `deciding`. Thread safe. Errors name the node.
Expected<ResultSizes> resolve_shapes(const Plan& plan, ir::NodeId node,
                                     std::span<const tensor::Operand> inputs,
                                     DecidingValues deciding);

/// Sizes and strides of a call's inputs, and the elements of those whose values decide.
using CallKey = std::vector<std::int64_t>;

/// Sets `key`. False where values that decide are too many to be worth it.
bool describe_inputs(std::span<const tensor::Operand> inputs, DecidingValues deciding,
                     CallKey& key);

/// Whether there is nothing to compute for these results.
bool makes_nothing(const Plan& plan, const DynamicCall& dynamic,
                   std::span<const tensor::Operand> outputs);

/// The first kernel that takes these operands as they lie; `refusal` is set where none does.
kernels::Prepared prepare_kernel(const Plan& plan, const DynamicCall& dynamic,
                                 std::span<const tensor::Operand> inputs,
                                 std::span<const tensor::Operand> outputs);

/// resolve_shapes for a copy of the one input.
Expected<ResultSizes> sizes_of_input(const Plan& plan, ir::NodeId node,
                                     std::span<const tensor::Operand> inputs,
                                     DecidingValues deciding);

/// Returns the result of a slice as a view of its first operand; nullopt where it has none, of
/// which resolve_shapes says why.
std::optional<ir::ViewOf> view_of_slice(std::span<const tensor::Operand> inputs);

/// The sizes of the stacked results of a loop that takes no step, from its actual operands; those
/// that are no tensors are not defined. Errors name the node.
Expected<std::vector<tensor::Shape>> empty_stacks(const Plan& plan, ir::NodeId loop,
                                                  std::span<const tensor::Tensor> inputs);

}  // namespace scanloom::plan
