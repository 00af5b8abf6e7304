// Convolutions that one call computes because the second alone reads the first, whose result would
// not stay in the cache (kernels/conv_pair.h). The bits are those of the nodes one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/expected.h"
#include "plan/bind/fusion.h"

namespace scanloom::plan {

struct BindContext;

/// Two convolutions, each with the element-wise nodes after it. They are bound where the last node
/// of the second is.
struct BoundPair {
  FusedGroup first, second;  ///< maybe of a single node
};

/// The pairs of the top region.
class ConvPairs {
 public:
  ConvPairs() = default;
  ConvPairs(std::vector<BoundPair> pairs, std::size_t node_count);

  /// Returns the pair that the node is part of; nullptr: none.
  [[nodiscard]] const BoundPair* pair_of(ir::NodeId id) const {
    if (id.index >= pair_of_.size() || pair_of_[id.index] == 0) return nullptr;
    return &pairs_[pair_of_[id.index] - 1];
  }

 private:
  std::vector<BoundPair> pairs_;
  std::vector<std::uint32_t> pair_of_;  ///< by NodeId: 1 + the index of its pair; 0: none
};

/// Finds the pairs. `channels_last`: see find_channels_last(). Precondition: find_fusion() is done.
[[nodiscard]] ConvPairs find_conv_pairs(const BindContext& ctx,
                                        const std::vector<bool>& channels_last);

/// Emits the call of a pair. If the kernel does not take it, emits those of its convolutions.
Expected<void> bind_pair(BindContext& ctx, const BoundPair& pair);

}  // namespace scanloom::plan
