#include "plan/arena.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace scanloom::plan {
namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Buffers by when they live, so that placing one looks at few that live at other times.
class Timeline {
 public:
  explicit Timeline(std::int32_t end) : width_(end / kSpans + 1) {}

  void add(BufferId buffer, std::int32_t born, std::int32_t dies) {
    for (std::int32_t span = born / width_; span <= dies / width_; ++span)
      spans_[static_cast<std::size_t>(span)].push_back(buffer);
  }

  /// All that live in between, each at least once, and others.
  void collect(std::int32_t born, std::int32_t dies, std::vector<BufferId>& found) const {
    found.clear();
    for (std::int32_t span = born / width_; span <= dies / width_; ++span) {
      const std::vector<BufferId>& here = spans_[static_cast<std::size_t>(span)];
      found.insert(found.end(), here.begin(), here.end());
    }
  }

 private:
  static constexpr std::int32_t kSpans = 256;
  std::int32_t width_;
  std::array<std::vector<BufferId>, kSpans> spans_;
};

}  // namespace

BufferId ArenaPlanner::add(std::int64_t bytes) {
  // Whole vectors: a kernel may read and write the padding of its own buffer.
  buffers_.push_back({std::max(aligned(bytes), kAlignment), 0, now_, now_});
  return static_cast<BufferId>(buffers_.size() - 1);
}

void ArenaPlanner::use(BufferId buffer) {
  Buffer& used = at(buffer);
  used.dies = std::max(used.dies, now_);
  // The outermost open loop that the buffer was born before: every later step needs it again.
  for (OpenLoop& loop : loops_) {
    if (used.born >= loop.begin) continue;
    loop.used.push_back(buffer);
    break;
  }
}

void ArenaPlanner::open_loop() {
  tick();
  loops_.push_back({now_, {}});
}

void ArenaPlanner::close_loop() {
  for (const BufferId buffer : loops_.back().used)
    at(buffer).dies = std::max(at(buffer).dies, now_);
  loops_.pop_back();
  tick();
}

void ArenaPlanner::place() {
  std::vector<BufferId> order(buffers_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](BufferId a, BufferId b) { return at(a).bytes > at(b).bytes; });
  Timeline placed(now_);
  std::vector<BufferId> near;
  for (const BufferId id : order) {
    Buffer& buffer = at(id);
    placed.collect(buffer.born, buffer.dies, near);
    std::sort(near.begin(), near.end(),
              [&](BufferId a, BufferId b) { return at(a).offset < at(b).offset; });
    // By offset, so that one sweep finds the smallest gap that is free meanwhile.
    std::int64_t best = -1, best_gap = 0, end = 0;
    for (const BufferId other_id : near) {
      const Buffer& other = at(other_id);
      if (other.dies < buffer.born || other.born > buffer.dies) continue;
      const std::int64_t gap = other.offset - end;
      if (gap >= buffer.bytes && (best < 0 || gap < best_gap)) best = end, best_gap = gap;
      end = std::max(end, other.offset + other.bytes);
    }
    buffer.offset = best >= 0 ? best : end;
    total_ = std::max(total_, buffer.offset + buffer.bytes);
    placed.add(id, buffer.born, buffer.dies);
  }
}

}  // namespace scanloom::plan
