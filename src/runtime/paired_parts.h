// Parts of a chunk whose guess was wrong, each with the state that it probably begins with: the one
// that pairs with the wrong state of a checkpoint. Threads take such parts again at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/speculation.h"
#include "plan/state_pairs.h"
#include "runtime/speculative_chunks.h"

namespace scanloom::runtime {

/// The states of a loop that tell in which state a recurrence over few states is.
class PairedStates {
 public:
  explicit PairedStates(const plan::Speculation& speculation);

  [[nodiscard]] bool is_empty() const { return ranges_.empty(); }
  /// Returns their bytes.
  [[nodiscard]] SpeculatedState of(std::span<const std::byte> state) const;
  /// Sets their bytes.
  void set(std::span<std::byte> state, const SpeculatedState& bytes) const;

 private:
  struct Range {
    std::size_t offset, bytes;
  };
  std::vector<Range> ranges_;
};

/// Cuts the steps [step, last) of a chunk with these checkpoints into up to `parts` parts of about
/// equal length; returns those after the first. None if the states have no pairs.
std::vector<RedonePart> cut_by_pairs(const plan::StatePairs& pairs, const PairedStates& states,
                                     const SpeculativeChunks::Checkpoints& checkpoints,
                                     std::int64_t step, std::int64_t last, std::int64_t parts);

}  // namespace scanloom::runtime
