// The calls that compute several nodes (fused_call.cpp, conv_pairs.cpp).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/module.h"
#include "kernels/kernel.h"
#include "plan/bind/location.h"
#include "tensor/scalar.h"

namespace scanloom::plan {

struct BindContext;
struct FusedGroup;

/// A convolution and what follows it in one call: its operands, those of the element-wise nodes
/// after it, and their program, which begins with its result.
struct ConvolutionPart {
  /// `group` has a convolution, and maybe no other node.
  ConvolutionPart(BindContext& ctx, const FusedGroup& group);

  const ir::Node& convolution;
  ir::ValueId result;
  std::vector<Location> inputs;
  std::optional<tensor::ScalarProgram> program;
  bool of_plan = true;   ///< the plan owns the constants of the convolution proper, the only packed
  bool is_whole = true;  ///< nothing else reads a value of the part but its result
};

/// Whether all operands that are there are tensors of known sizes.
[[nodiscard]] bool are_static(std::span<const Location> inputs);

/// Emits the call of a prepared kernel that computes all of these nodes, in execution order. Its
/// results are `values`.
void emit_fused_call(BindContext& ctx, std::span<const ir::NodeId> nodes, kernels::KernelId kernel,
                     kernels::Prepared prepared, const std::vector<Location>& inputs,
                     const std::vector<ir::ValueId>& values);

}  // namespace scanloom::plan
