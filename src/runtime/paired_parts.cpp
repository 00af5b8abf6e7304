#include "runtime/paired_parts.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace scanloom::runtime {

PairedStates::PairedStates(const plan::Speculation& speculation) {
  const std::vector<bool> in_pairs = plan::states_in_pairs(speculation);
  std::size_t at = 0;
  for (std::size_t i = 0; i < in_pairs.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(speculation.states[i].bytes);
    if (in_pairs[i] && bytes > 0) ranges_.push_back({at, bytes});
    at += bytes;
  }
}

SpeculatedState PairedStates::of(std::span<const std::byte> state) const {
  SpeculatedState bytes;
  for (const Range& range : ranges_) {
    const auto part = state.subspan(range.offset, range.bytes);
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

void PairedStates::set(std::span<std::byte> state, const SpeculatedState& bytes) const {
  auto from = bytes.begin();
  for (const Range& range : ranges_) {
    std::copy_n(from, range.bytes, state.begin() + static_cast<std::ptrdiff_t>(range.offset));
    from += static_cast<std::ptrdiff_t>(range.bytes);
  }
}

std::vector<RedonePart> cut_by_pairs(const plan::StatePairs& pairs, const PairedStates& states,
                                     const SpeculativeChunks::Checkpoints& checkpoints,
                                     std::int64_t step, std::int64_t last, std::int64_t parts) {
  if (checkpoints.steps.empty()) return {};
  const std::size_t bytes = checkpoints.states.size() / checkpoints.steps.size();
  std::vector<RedonePart> made;
  for (std::int64_t i = 1; i < parts; ++i) {
    const std::int64_t wanted = step + (last - step) / parts * i;
    std::int64_t least = (last - step) / parts / 2;  // parts of very different lengths do not pay
    RedonePart part;
    for (std::size_t k = 0; k < checkpoints.steps.size(); ++k) {
      const std::int64_t at = checkpoints.steps[k], distance = std::abs(at - wanted);
      if (distance >= least || at <= step || at >= last) continue;
      const auto wrong = checkpoints.states.subspan(k * bytes, bytes);
      const SpeculatedState* const right = pairs.find(states.of(wrong));
      if (right == nullptr) continue;
      part = {.first = at, .guess = SpeculatedState(wrong.begin(), wrong.end())};
      states.set(part.guess, *right);
      least = distance;
    }
    // Each wanted step is at least a part away from the others, so the cuts are in order.
    if (part.first == 0) return {};
    made.push_back(std::move(part));
  }
  return made;
}

}  // namespace scanloom::runtime
