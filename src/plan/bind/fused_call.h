// The calls that compute several nodes (fused_call.cpp, conv_pairs.cpp).
#pragma once

#include <span>
#include <vector>

#include "ir/module.h"
#include "kernels/kernel.h"
#include "plan/bind/location.h"

namespace scanloom::plan {

struct BindContext;

/// Whether all operands that are there are tensors of known sizes.
[[nodiscard]] bool are_static(std::span<const Location> inputs);

/// Emits the call of a prepared kernel that computes all of these nodes, in execution order. Its
/// results are `values`.
void emit_fused_call(BindContext& ctx, std::span<const ir::NodeId> nodes, kernels::KernelId kernel,
                     kernels::Prepared prepared, const std::vector<Location>& inputs,
                     const std::vector<ir::ValueId>& values);

}  // namespace scanloom::plan
