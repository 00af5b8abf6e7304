// Promotes what only nests touch from the run's memory to the code's own: values in buffers that
// end with the step, and small states, which then need no slot swaps.
#include <algorithm>

#include "loopnest/cost.h"
#include "loopnest/pass.h"

namespace scanloom::loopnest {
namespace {

/// Bytes that are promoted together or not at all.
struct Range {
  Use use;
  bool is_local = true;
};

/// Calls f(operand, use) for every operand of the nest.
template <class F>
void for_operands(Nest& nest, F&& f) {
  for (Access& read : nest.reads) f(read, use_of(read, nest.sizes));
  for (Access& write : nest.writes) f(write, use_of(write, nest.sizes));
  for (Reduction& reduction : nest.reductions) {
    const std::vector<std::int64_t> sizes = axes_of(nest, reduction);
    for (Access& read : reduction.reads) f(read, use_of(read, sizes));
  }
}

/// Indices stay in the run's memory: the kernel reads them if they are out of range.
std::vector<Use> indices_of(const Nest& nest) {
  std::vector<Use> uses;
  for_indices(nest, [&](const DynamicIndex& index) { uses.push_back(use_of(index, nest.sizes)); });
  return uses;
}

class BufferPromoter {
 public:
  explicit BufferPromoter(BodyParts& body)
      : parts_(body.parts),
        is_buffer_(body.is_buffer),
        read_later_(body.read_later),
        source_(body.source) {}

  void run() {
    keep_values();
    for (SlotSwap& swap : source_.swaps) keep_state(swap);
    std::erase_if(source_.swaps, [](const SlotSwap& swap) { return swap.a < 0; });
  }

 private:
  [[nodiscard]] bool is_known(const Use& use) const {
    return std::ranges::any_of(ranges_,
                               [&](const Range& range) { return range.use.overlaps(use); });
  }

  /// Adds bytes to the ranges and merges overlapping ones.
  void add(const Use& use) {
    Range joined{use};
    std::erase_if(ranges_, [&](const Range& range) {
      if (!range.use.overlaps(joined.use)) return false;
      joined.use.first = std::min(joined.use.first, range.use.first);
      joined.use.last = std::max(joined.use.last, range.use.last);
      return true;
    });
    ranges_.push_back(joined);
  }

  void exclude(const std::vector<Use>& uses) {
    for (Range& range : ranges_)
      range.is_local &=
          std::ranges::none_of(uses, [&](const Use& use) { return use.overlaps(range.use); });
  }

  /// Promotes values in the arena that the step computes; others were computed before the loop.
  void keep_values() {
    for (const Part& part : parts_)
      for (const Use& use : part.writes)
        if (is_buffer_(use.slot)) add(use);
    for (const Part& part : parts_)
      for (const Use& use : part.reads)
        if (is_known(use)) add(use);
    exclude(read_later_);
    for (const Part& part : parts_) {
      if (part.is_nest()) {
        exclude(indices_of(part.statement.nest));
        continue;
      }
      exclude(part.reads);
      exclude(part.writes);
    }
    std::int64_t bytes = 0;
    for (const Range& range : ranges_) {
      if (!range.is_local) continue;
      const std::int64_t size = range.use.last - range.use.first;
      bytes += size;
      if (bytes > kMaxLocalBytes) return;
      move_to(range.use, add_local(size));
    }
  }

  void keep_state(SlotSwap& swap) {
    Use argument{swap.a, 0, 0}, next{swap.b, 0, 0};
    for (const Part& part : parts_) {
      for (const auto* uses : {&part.reads, &part.writes})
        for (const Use& use : *uses) {
          if (use.slot != swap.a && use.slot != swap.b) continue;
          if (!part.is_nest() || use.first < 0 || overlap({use}, indices_of(part.statement.nest)))
            return;
          Use& all = use.slot == swap.a ? argument : next;
          all.last = std::max(all.last, use.last);
        }
    }
    const std::int64_t bytes = std::max(argument.last, next.last);
    const bool read_after = std::ranges::any_of(
        read_later_, [&](const Use& use) { return use.slot == swap.a || use.slot == swap.b; });
    // Each step must write the whole state, or the rest would be lost.
    if (read_after || next.last < bytes || bytes == 0 || bytes > kMaxLocalState) return;
    if (std::ssize(source_.states) >= kMaxLocalStates ||
        state_bytes_ + bytes > kMaxBytesOfLocalStates)
      return;
    state_bytes_ += bytes;
    argument.last = next.last = bytes;
    const std::int32_t now = add_local(bytes), then = add_local(bytes);
    move_to(argument, now);
    move_to(next, then);
    source_.states.push_back({swap.a, now, then});
    swap.a = -1;
  }

  std::int32_t add_local(std::int64_t bytes) {
    source_.locals.push_back(bytes);
    return local_slot(source_.locals.size() - 1);
  }

  void move_to(const Use& range, std::int32_t local) {
    for (Part& part : parts_) {
      if (!part.is_nest()) continue;
      for_operands(part.statement.nest, [&](Access& operand, const Use& use) {
        if (!use.overlaps(range)) return;
        operand.slot = local;
        operand.offset -= range.first;
      });
    }
  }

  std::vector<Part>& parts_;
  const IsBuffer& is_buffer_;
  const std::vector<Use>& read_later_;
  BodySource& source_;
  std::vector<Range> ranges_;
  std::int64_t state_bytes_ = 0;  ///< of promoted states
};

}  // namespace

void promote_buffers(BodyParts& body) { BufferPromoter(body).run(); }

}  // namespace scanloom::loopnest
