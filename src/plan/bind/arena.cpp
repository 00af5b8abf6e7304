#include "plan/bind/arena.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "base/checked.h"

namespace scanloom::plan {
namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Buffers indexed by lifetime, so that placing one visits few that live at other times.
class Timeline {
 public:
  explicit Timeline(std::int32_t end) : width_(end / kSpans + 1) {}

  void add(BufferId buffer, std::int32_t born, std::int32_t dies) {
    for (std::int32_t span = born / width_; span <= dies / width_; ++span)
      spans_[static_cast<std::size_t>(span)].push_back({buffer, born, dies});
  }

  /// Calls `found` once for each buffer that is alive at some moment in [born, dies].
  template <class Found>
  void collect(std::int32_t born, std::int32_t dies, const Found& found) const {
    for (std::int32_t span = born / width_; span <= dies / width_; ++span)
      for (const Life& life : spans_[static_cast<std::size_t>(span)]) {
        if (life.dies < born || life.born > dies) continue;
        // A buffer is listed in every span of its life; report it in the first shared one only.
        if (std::max(life.born, born) / width_ == span) found(life.buffer);
      }
  }

 private:
  static constexpr std::int32_t kSpans = 256;
  struct Life {
    BufferId buffer;
    std::int32_t born, dies;
  };
  std::int32_t width_;
  std::array<std::vector<Life>, kSpans> spans_;
};

/// For each moment, how many bytes are allocated and where the highest buffer ends. A segment tree
/// over time: updates and queries take logarithmic time.
class Levels {
 public:
  explicit Levels(std::int32_t end) : count_(end + 1) {
    std::size_t leaves = 1;
    while (leaves < static_cast<std::size_t>(count_)) leaves *= 2;
    nodes_.resize(2 * leaves);
    count_ = static_cast<std::int32_t>(leaves);
  }

  void add(std::int32_t born, std::int32_t dies, std::int64_t bytes, std::int64_t end) {
    add({1, 0, count_ - 1}, born, dies, bytes, end);
  }
  /// Returns the most bytes allocated at any moment in [born, dies].
  [[nodiscard]] std::int64_t most_used(std::int32_t born, std::int32_t dies) const {
    return most_used({1, 0, count_ - 1}, born, dies);
  }
  /// Returns where the highest buffer alive in [born, dies] ends.
  [[nodiscard]] std::int64_t end(std::int32_t born, std::int32_t dies) const {
    return end({1, 0, count_ - 1}, born, dies);
  }

 private:
  struct Node {
    std::int64_t used = 0, end = 0;                // the most of all moments below
    std::int64_t used_by_all = 0, end_of_all = 0;  // of buffers that live through all of them
  };
  struct TreeNode {
    std::size_t node;
    std::int32_t first, last;
    [[nodiscard]] TreeNode left() const { return {2 * node, first, first + (last - first) / 2}; }
    [[nodiscard]] TreeNode right() const {
      return {2 * node + 1, first + (last - first) / 2 + 1, last};
    }
    [[nodiscard]] bool outside(std::int32_t born, std::int32_t dies) const {
      return dies < first || born > last;
    }
    [[nodiscard]] bool inside(std::int32_t born, std::int32_t dies) const {
      return born <= first && last <= dies;
    }
  };

  // These three recurse to the height of the tree: at most 31.
  void add(TreeNode at, std::int32_t born, std::int32_t dies, std::int64_t bytes,
           std::int64_t end) {
    if (at.outside(born, dies)) return;
    Node& node = nodes_[at.node];
    node.end = std::max(node.end, end);
    if (at.inside(born, dies)) {
      node.used += bytes;
      node.used_by_all += bytes;
      node.end_of_all = std::max(node.end_of_all, end);
      return;
    }
    add(at.left(), born, dies, bytes, end);
    add(at.right(), born, dies, bytes, end);
    node.used = node.used_by_all + std::max(nodes_[2 * at.node].used, nodes_[2 * at.node + 1].used);
  }
  [[nodiscard]] std::int64_t most_used(TreeNode at, std::int32_t born, std::int32_t dies) const {
    if (at.outside(born, dies)) return 0;
    const Node& node = nodes_[at.node];
    if (at.inside(born, dies)) return node.used;
    return node.used_by_all +
           std::max(most_used(at.left(), born, dies), most_used(at.right(), born, dies));
  }
  [[nodiscard]] std::int64_t end(TreeNode at, std::int32_t born, std::int32_t dies) const {
    if (at.outside(born, dies)) return 0;
    const Node& node = nodes_[at.node];
    if (at.inside(born, dies)) return node.end;
    return std::max({node.end_of_all, end(at.left(), born, dies), end(at.right(), born, dies)});
  }

  std::int32_t count_;
  std::vector<Node> nodes_;
};

/// Memory that is allocated during a buffer's life.
struct Taken {
  std::int64_t begin = 0, end = 0;
  /// Reversed, so that the top of a heap is the lowest.
  bool operator<(const Taken& other) const { return begin > other.begin; }
};

/// Returns the start of the smallest gap of at least `bytes` below the end of `taken`; nullopt if
/// there is none. Uses a heap, because a gap of exactly that size, as equal buffers leave, is often
/// found before everything is sorted.
std::optional<std::int64_t> smallest_gap(std::vector<Taken>& taken, std::int64_t bytes) {
  std::make_heap(taken.begin(), taken.end());
  std::optional<std::int64_t> best;
  std::int64_t best_gap = 0, end = 0;
  while (!taken.empty()) {
    std::pop_heap(taken.begin(), taken.end());
    const Taken lowest = taken.back();
    taken.pop_back();
    const std::int64_t gap = lowest.begin - end;
    if (gap >= bytes && (!best || gap < best_gap)) best = end, best_gap = gap;
    if (best && best_gap == bytes) break;
    end = std::max(end, lowest.end);
  }
  return best;
}

/// Offsets that buffers of one size reuse, so that placing the next one does not visit all buffers
/// alive with it. Buffers are added in order of birth.
class EqualSlots {
 public:
  EqualSlots(std::int64_t bytes, const Levels& larger) : bytes_(bytes), others_(larger) {}

  /// Returns the lowest offset that is free by `born` and lies above all other buffers.
  std::optional<std::int64_t> take(std::int32_t born, std::int32_t dies) {
    while (!busy_.empty() && busy_.top().first < born) {
      free_.insert(busy_.top().second);
      busy_.pop();
    }
    const std::int64_t others = others_.end(born, dies);
    const auto found = free_.lower_bound(others);
    if (found == free_.end()) return std::nullopt;
    const std::int64_t offset = *found;
    free_.erase(found);
    busy_.emplace(dies, offset);
    return offset;
  }

  /// Adds the offset of a buffer that was placed otherwise, for reuse unless it overlaps others.
  void add(std::int32_t born, std::int32_t dies, std::int64_t offset) {
    const auto above = all_.lower_bound(offset);
    const bool touches = (above != all_.end() && *above < offset + bytes_) ||
                         (above != all_.begin() && *std::prev(above) + bytes_ > offset);
    if (touches || others_.end(born, dies) > offset) {
      others_.add(born, dies, bytes_, offset + bytes_);
      return;
    }
    all_.insert(offset);
    busy_.emplace(dies, offset);
  }

 private:
  using Busy = std::pair<std::int32_t, std::int64_t>;  // when it ends, and the offset
  std::int64_t bytes_;
  Levels others_;  // larger buffers, and those whose offset is not reused
  std::set<std::int64_t> all_, free_;
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
};

/// From this many buffers of one size on, their offsets are reused through EqualSlots.
constexpr std::ptrdiff_t kManyEqual = 512;

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

void ArenaPlanner::drop(BufferId buffer) { at(buffer).bytes = kAlignment; }

void ArenaPlanner::keep_until(BufferId buffer, std::int32_t moment) {
  at(buffer).dies = std::max(at(buffer).dies, moment);
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

Expected<void> ArenaPlanner::place() {
  const auto find_offset = [this](const Buffer& buffer, const Levels& levels,
                                  const Timeline& placed, std::vector<Taken>& taken) {
    const std::int64_t top = levels.end(buffer.born, buffer.dies);
    // A gap that is free all the time is also free at the moment of highest use. With many live
    // buffers there is usually none, so skip the search.
    if (top - levels.most_used(buffer.born, buffer.dies) < buffer.bytes) return top;
    taken.clear();
    placed.collect(buffer.born, buffer.dies, [&](BufferId other) {
      taken.push_back({at(other).offset, at(other).offset + at(other).bytes});
    });
    return smallest_gap(taken, buffer.bytes).value_or(top);
  };
  std::vector<BufferId> order(buffers_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](BufferId a, BufferId b) { return at(a).bytes > at(b).bytes; });
  Timeline placed(now_);
  Levels levels(now_);
  std::vector<Taken> taken;
  std::optional<EqualSlots> equal;
  for (auto next = order.begin(), end_of_size = next; next != order.end(); ++next) {
    const BufferId id = *next;
    Buffer& buffer = at(id);
    if (next == end_of_size) {
      end_of_size = std::find_if(next, order.end(),
                                 [&](BufferId other) { return at(other).bytes != buffer.bytes; });
      equal.reset();
      if (end_of_size - next >= kManyEqual) equal.emplace(buffer.bytes, levels);
    }
    const auto free = equal ? equal->take(buffer.born, buffer.dies) : std::nullopt;
    if (free) {
      buffer.offset = *free;
    } else {
      buffer.offset = find_offset(buffer, levels, placed, taken);
      if (equal) equal->add(buffer.born, buffer.dies, buffer.offset);
    }
    const auto end = checked_sum(buffer.offset, buffer.bytes);
    if (!end) return fail(Code::limit_reached, "the values of a run need more than 2^63 bytes");
    total_ = std::max(total_, *end);
    placed.add(id, buffer.born, buffer.dies);
    levels.add(buffer.born, buffer.dies, buffer.bytes, *end);
  }
  return {};
}

}  // namespace scanloom::plan
