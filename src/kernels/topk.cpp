// topk: elements become keys, integers of a rank and an index that sort as the result does. A line
// is searched with the worst key that is still among the best, so most elements take one
// comparison.
#include <algorithm>
#include <array>
#include <memory>

#include "base/thread_pool.h"
#include "kernels/kernel.h"
#include "kernels/line_axis.h"
#include "opmath/element_rank.h"
#include "tensor/paced_poll.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::Status;

__extension__ using WideKey = unsigned __int128;

/// A rank, then an index: smaller keys come first.
template <class T>
using KeyOf = std::conditional_t<(sizeof(T) <= 4), std::uint64_t, WideKey>;

/// Up to this many elements are kept sorted while searching.
constexpr std::int64_t kFew = 16;
/// Elements that are compared before any is looked at.
constexpr std::int64_t kGroup = 16;
constexpr std::int64_t kMaxTopkShares = 8;
constexpr std::int64_t kMaxLine = std::int64_t{1} << 32;

struct TopkAxis {
  std::int64_t size = 1, x = 0, values = 0, indices = 0;  ///< strides in elements
};

struct TopkSchedule {
  std::array<TopkAxis, tensor::kMaxRank> outer{};
  std::size_t outer_axes = 0;
  std::int64_t lines = 1;
  TopkAxis line;
  std::int64_t kept = 0;
  std::int64_t keys = 0;  ///< that the scratch memory of a share holds
  std::int64_t shares = 1;
  bool largest = true;
};

/// One line, and the keys of its best elements so far.
template <class T>
class TopkLine {
  using Key = KeyOf<T>;
  static constexpr int kIndexBits = sizeof(Key) == 8 ? 32 : 64;

 public:
  TopkLine(const TopkSchedule& plan, const T* x, Key* keys) : plan_(plan), x_(x), keys_(keys) {}

  /// Leaves the best keys in front, in order.
  void select() {
    const std::int64_t size = plan_.line.size, k = plan_.kept;
    if (k == 0) return;
    if (2 * k >= size) {
      for (std::int64_t i = 0; i < size; ++i) keys_[i] = key(i);
      count_ = size;
    } else if (k <= kFew) {
      return select_few();
    } else {
      while (count_ < plan_.keys) append(count_);
      shrink();
      search(count_next_, [&](std::int64_t i) {
        append(i);
        if (count_ == plan_.keys) shrink();
      });
    }
    if (count_ > k) std::nth_element(keys_, keys_ + k - 1, keys_ + count_);
    std::sort(keys_, keys_ + k);
  }

  [[nodiscard]] std::int64_t index(std::int64_t i) const {
    constexpr Key kMask = (Key{1} << kIndexBits) - 1;
    return static_cast<std::int64_t>(keys_[i] & kMask);
  }

 private:
  [[nodiscard]] const T& element(std::int64_t i) const { return x_[i * plan_.line.x]; }
  [[nodiscard]] Key key(std::int64_t i) const {
    const RankOf<T> rank = rank_of(element(i));
    return static_cast<Key>(plan_.largest ? static_cast<RankOf<T>>(~rank) : rank) << kIndexBits |
           static_cast<Key>(i);
  }

  void append(std::int64_t i) {
    keys_[count_++] = key(i);
    count_next_ = i + 1;
  }
  /// Keeps the best k keys.
  void shrink() {
    std::nth_element(keys_, keys_ + plan_.kept - 1, keys_ + count_);
    count_ = plan_.kept;
    worst_ = index(plan_.kept - 1);
  }

  void select_few() {
    const std::int64_t k = plan_.kept;
    for (std::int64_t i = 0; i < k; ++i) insert(i);
    worst_ = index(k - 1);
    search(k, [&](std::int64_t i) {
      --count_;
      insert(i);
      worst_ = index(k - 1);
    });
  }
  void insert(std::int64_t i) {
    const Key added = key(i);
    std::int64_t at = count_++;
    for (; at > 0 && keys_[at - 1] > added; --at) keys_[at] = keys_[at - 1];
    keys_[at] = added;
  }

  /// Calls take(i) for each element that is among the best so far.
  template <class Take>
  void search(std::int64_t first, Take&& take) {
    plan_.largest ? search_for<true>(first, take) : search_for<false>(first, take);
  }
  template <bool kLargest, class Take>
  void search_for(std::int64_t i, Take& take) {
    const std::int64_t size = plan_.line.size, step = plan_.line.x;
    for (; i + kGroup <= size; i += kGroup) {
      const auto worst = tensor::widen(element(worst_));
      const T* const group = x_ + i * step;
      if (step == 1 ? !any_better<kLargest>(group, 1, worst)
                    : !any_better<kLargest>(group, step, worst))
        continue;
      for (std::int64_t j = i; j < i + kGroup; ++j) consider<kLargest>(j, take);
    }
    for (; i < size; ++i) consider<kLargest>(i, take);
  }
  template <bool kLargest, class W>
  static bool any_better(const T* group, std::int64_t step, W worst) {
    int better = 0;
    for (std::int64_t j = 0; j < kGroup; ++j)
      better |= is_better<kLargest>(tensor::widen(group[j * step]), worst) ? 1 : 0;
    return better != 0;
  }
  template <bool kLargest, class Take>
  void consider(std::int64_t i, Take& take) {
    if (!is_better<kLargest>(tensor::widen(element(i)), tensor::widen(element(worst_)))) return;
    if (key(i) < key(worst_)) take(i);
  }
  /// Whether a may be better than b, which precedes it: certainly not if it is equal.
  template <bool kLargest, class W>
  static bool is_better(W a, W b) {
    return kLargest ? !(a <= b) : !(a >= b);
  }

  const TopkSchedule& plan_;
  const T* x_;
  Key* keys_;
  std::int64_t count_ = 0, count_next_ = 0, worst_ = 0;
};

template <class T>
void select_line(const TopkSchedule& plan, const Call& call, std::int64_t number,
                 std::byte* scratch) {
  const T* x = call.in(0).data<const T>();
  T* values = call.out(0).data<T>();
  std::int64_t* indices = call.out(1).data<std::int64_t>();
  for (std::size_t i = plan.outer_axes; i-- > 0;) {
    const TopkAxis& axis = plan.outer[i];
    const std::int64_t at = number % axis.size;
    number /= axis.size;
    x += at * axis.x;
    values += at * axis.values;
    indices += at * axis.indices;
  }
  TopkLine<T> line(plan, x, reinterpret_cast<KeyOf<T>*>(scratch));
  line.select();
  for (std::int64_t i = 0; i < plan.kept; ++i) {
    const std::int64_t index = line.index(i);
    values[i * plan.line.values] = x[index * plan.line.x];
    indices[i * plan.line.indices] = index;
  }
}

template <class T>
Status run_topk(const Call& call) noexcept {
  const auto& plan = *static_cast<const TopkSchedule*>(call.prepared);
  const auto bytes = plan.keys * static_cast<std::int64_t>(sizeof(KeyOf<T>));
  const auto run = [&](std::int64_t share) {
    const std::int64_t end = plan.lines * (share + 1) / plan.shares;
    tensor::PacedPoll poll(call);
    for (std::int64_t i = plan.lines * share / plan.shares;
         i < end && !poll.stops(call.in(0).elements() / plan.lines); ++i)
      select_line<T>(plan, call, i, *call.scratch + share * bytes);
  };
  plan.shares > 1 ? parallel_for(plan.shares, call.max_threads, run) : run(0);
  return call.ok_or_stopped();
}

Prepared prepare_topk(const PrepareCtx& ctx) {
  const Operand &x = ctx.inputs[0], &values = ctx.outputs[0], &indices = ctx.outputs[1];
  if (!values.present() || !indices.present()) return Prepared::no("a result that is not needed");
  if (x.empty() || x.rank == 0) return Prepared::no("no elements to compute");
  const std::int64_t given = ctx.attrs[0].integer();
  const auto along = static_cast<int>(given < 0 ? given + x.rank : given);
  auto plan = std::make_shared<TopkSchedule>();
  for (int i = 0; i < x.rank; ++i) {
    const TopkAxis axis{x.dims[i], x.strides[i], values.strides[i], indices.strides[i]};
    if (i == along)
      plan->line = axis;
    else
      plan->outer[plan->outer_axes++] = axis;
    if (i != along) plan->lines *= x.dims[i];
  }
  plan->kept = values.dims[along];
  plan->largest = ctx.attrs[1].integer() != 0;
  if (plan->line.size > kMaxLine) return Prepared::no("a line of more than 2^32 elements");
  plan->keys = plan->kept <= kFew ? kFew : 2 * plan->kept;
  if (2 * plan->kept >= plan->line.size) plan->keys = plan->line.size;
  if (plan->lines * plan->line.size >= kMinThreadedElements / 4)
    plan->shares = std::min(plan->lines, kMaxTopkShares);
  return tensor::visit_dtype(x.dtype, [&]<class T>(std::type_identity<T>) -> Prepared {
    if constexpr (Ranked<T> && !std::is_same_v<T, bool>) {
      const std::int64_t bytes =
          plan->shares * plan->keys * static_cast<std::int64_t>(sizeof(KeyOf<T>));
      return {.state = std::move(plan), .scratch_bytes = bytes, .run = run_topk<T>};
    } else {
      return Prepared::no("an element type that only the reference kernel takes");
    }
  });
}

}  // namespace

extern constinit const KernelDef topk_kernel{
    .name = "topk",
    .doc = "Keys of rank and index, of which the best are kept and sorted.",
    .prepare = prepare_topk,
    .run = run_topk<float>,
};

}  // namespace scanloom::kernels
