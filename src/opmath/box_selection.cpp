#include "opmath/box_selection.h"

#include <algorithm>

#include "opmath/element_rank.h"

namespace scanloom {
namespace {

enum BoxInput : int { kBoxes, kScores, kMaxPerClass, kIouThreshold, kScoreThreshold };

/// The sizes and strides of the two tensors.
struct BoxLayouts {
  const std::int64_t *box_dims, *box_strides, *score_dims, *score_strides;
};

BoxCandidates laid_out(const BoxLayouts& layouts) {
  BoxCandidates all;
  std::copy_n(layouts.box_strides, 3, all.box_strides.begin());
  std::copy_n(layouts.score_strides, 3, all.score_strides.begin());
  all.batches = layouts.box_dims[0];
  all.classes = layouts.score_dims[1];
  all.count = layouts.box_dims[1];
  return all;
}

/// The boxes of one class that were kept, one list per side, so that a box is compared with several
/// at once.
class KeptBoxes {
 public:
  KeptBoxes(const BoxScratch& scratch, float threshold)
      : lists_(scratch.kept), threshold_(threshold) {}

  void add(const Box& box) {
    const float values[] = {box.x0, box.y0, box.x1, box.y1, box.area()};
    for (std::size_t i = 0; i < 5; ++i) lists_[i][count_] = values[i];
    ++count_;
  }
  /// Whether the intersection over union with one of them exceeds the threshold.
  [[nodiscard]] bool suppress(const Box& box) const {
    constexpr std::int64_t kGroup = 16;
    std::int64_t i = 0;
    for (; i + kGroup <= count_; i += kGroup) {
      int any = 0;
      for (std::int64_t k = i; k < i + kGroup; ++k) any |= overlaps(box, k);
      if (any != 0) return true;
    }
    int any = 0;
    for (; i < count_; ++i) any |= overlaps(box, i);
    return any != 0;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  /// 0 or 1. Without branches, so that it becomes vectors.
  [[nodiscard]] int overlaps(const Box& a, std::int64_t i) const {
    const float width = std::min(a.x1, lists_[2][i]) - std::max(a.x0, lists_[0][i]);
    const float height = std::min(a.y1, lists_[3][i]) - std::max(a.y0, lists_[1][i]);
    const float common = width * height;
    const float own = a.area(), other = lists_[4][i];
    const float either = own + other - common;
    return int{width > 0} & int{height > 0} & int{own > 0} & int{other > 0} & int{either > 0} &
           int{common / either > threshold_};
  }

  std::array<float*, 5> lists_;
  float threshold_;
  std::int64_t count_ = 0;
};

/// The candidates of one class, best first. A key has the rank of the score, inverted, above the
/// number of the box. They are sorted in runs that become longer, since often few are asked for.
class BoxQueue {
 public:
  BoxQueue(const BoxCandidates& all, std::int64_t batch, std::int64_t of_class,
           std::uint64_t* memory)
      : next_(memory), sorted_(memory), end_(memory) {
    for (std::int64_t box = 0; box < all.count; ++box) {
      const float score = all.score(batch, of_class, box);
      *end_ = std::uint64_t{~rank_of(score)} << 32 | static_cast<std::uint64_t>(box);
      // Written in any case: a branch on the score would be mispredicted.
      end_ += !all.score_threshold || score > *all.score_threshold ? 1 : 0;
    }
  }
  [[nodiscard]] bool empty() const { return next_ == end_; }
  std::int64_t take() {
    if (next_ == sorted_) sort_more();
    return static_cast<std::int64_t>(*next_++ & 0xffff'ffff);
  }

 private:
  void sort_more() {
    std::uint64_t* const until = end_ - next_ > 2 * run_ ? next_ + run_ : end_;
    if (until != end_) std::nth_element(next_, until, end_);
    std::sort(next_, until);
    sorted_ = until;
    run_ *= 4;
  }

  std::uint64_t *next_, *sorted_, *end_;
  std::ptrdiff_t run_ = 64;
};

void select_of_class(const BoxCandidates& all, std::int64_t batch, std::int64_t of_class,
                     const BoxScratch& scratch, KeepBox keep) {
  BoxQueue queue(all, batch, of_class, scratch.keys);
  KeptBoxes kept(scratch, all.iou_threshold);
  while (!queue.empty() && kept.count() < all.max_per_class) {
    const std::int64_t box = queue.take();
    const Box mine = all.box(batch, box);
    if (kept.suppress(mine)) continue;
    kept.add(mine);
    keep(batch, of_class, box);
  }
}

}  // namespace

BoxCandidates BoxCandidates::of(const tensor::Call& call) {
  const tensor::Operand &boxes = call.in(kBoxes), &scores = call.in(kScores);
  BoxCandidates all = laid_out({boxes.dims, boxes.strides, scores.dims, scores.strides});
  all.boxes = boxes.data<const float>();
  all.scores = scores.data<const float>();
  if (call.has(kMaxPerClass)) all.max_per_class = *call.in(kMaxPerClass).data<const std::int64_t>();
  if (call.has(kIouThreshold)) all.iou_threshold = *call.in(kIouThreshold).data<const float>();
  if (call.has(kScoreThreshold))
    all.score_threshold = *call.in(kScoreThreshold).data<const float>();
  all.centered = call.attrs[0].integer() != 0;
  return all;
}

BoxCandidates BoxCandidates::of(std::span<const tensor::Tensor* const> operands, bool centered) {
  const tensor::Tensor &boxes = *operands[kBoxes], &scores = *operands[kScores];
  const tensor::Shape of_boxes = tensor::contiguous_strides(boxes.shape());
  const tensor::Shape of_scores = tensor::contiguous_strides(scores.shape());
  BoxCandidates all = laid_out({boxes.shape().dims().data(), of_boxes.dims().data(),
                                scores.shape().dims().data(), of_scores.dims().data()});
  const auto number = [&]<class T>(int i, T otherwise) {
    const auto at = static_cast<std::size_t>(i);
    if (at >= operands.size() || operands[at] == nullptr) return otherwise;
    return T(operands[at]->as<typename T::value_type>()[0]);
  };
  all.boxes = static_cast<const float*>(boxes.data());
  all.scores = static_cast<const float*>(scores.data());
  all.max_per_class = *number(kMaxPerClass, std::optional<std::int64_t>(0));
  all.iou_threshold = *number(kIouThreshold, std::optional<float>(0));
  all.score_threshold = number(kScoreThreshold, std::optional<float>());
  all.centered = centered;
  return all;
}

Box BoxCandidates::box(std::int64_t batch, std::int64_t number) const {
  const float* const at = boxes + batch * box_strides[0] + number * box_strides[1];
  float v[4];
  for (int i = 0; i < 4; ++i) v[i] = at[i * box_strides[2]];
  if (centered) return {v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2, v[1] + v[3] / 2};
  // Two opposite corners, y before x, in any order.
  return {std::min(v[1], v[3]), std::min(v[0], v[2]), std::max(v[1], v[3]), std::max(v[0], v[2])};
}

void select_boxes(const BoxCandidates& all, const BoxScratch& scratch, KeepBox keep) {
  if (all.count == 0 || all.max_per_class <= 0) return;
  for (std::int64_t batch = 0; batch < all.batches; ++batch)
    for (std::int64_t of_class = 0; of_class < all.classes; ++of_class)
      select_of_class(all, batch, of_class, scratch, keep);
}

}  // namespace scanloom
