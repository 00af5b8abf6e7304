// Accumulators: carried values that sum up products, one per step. accumulate_as_product takes
// their sums out of loops; unroll_short_loop leaves it the loops in which it may.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/module.h"
#include "opmath/einsum_text.h"

namespace scanloom::passes {

/// In the loop, smaller sums stay in registers; as large products they would not fill the
/// registers.
inline constexpr std::int64_t kMinSummedElements = 64;

/// A carried value whose next value is `sum`: itself plus a product.
struct Accumulator {
  std::size_t carried = 0;
  ir::NodeId sum, product;
};

/// Whether it is one of the types that have a kernel which packs and blocks.
bool is_real(const ir::Type& type);

/// Returns the specification of a product. A broadcasting element-wise product counts as one too.
std::optional<tensor::Einsum> einsum_of(const ir::Module& module, const ir::Node& node);

/// Returns the carried values that sum up products and that nothing else reads.
std::vector<Accumulator> accumulators_of(const ir::Module& module, ir::NodeId loop);

/// Whether the loop, which the passes may not have simplified yet, may come to have an accumulator
/// that is larger than the operands of its product.
bool may_accumulate(const ir::Module& module, ir::NodeId loop);

}  // namespace scanloom::passes
