// Boxes are selected by descending score (the first of equal ones first), one class after the
// other.
#include <algorithm>
#include <cmath>

#include "ops/index/element_order.h"
#include "ops/indices.h"
#include "ops/ops.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {

using tensor::Dim;
using tensor::Operand;
using tensor::Type;

constexpr int kBoxes = 0;
constexpr int kScores = 1;
constexpr int kMaxPerClass = 2;
constexpr int kIouThreshold = 3;
constexpr int kScoreThreshold = 4;
constexpr int kCenterPointBox = 0;

/// The operands, whatever their layout, and the parameters.
struct Candidates {
  const float *boxes = nullptr, *scores = nullptr;
  std::array<std::int64_t, 3> box_strides{}, score_strides{};
  std::int64_t batches = 0, classes = 0, count = 0;
  std::int64_t max_per_class = 0;
  float iou_threshold = 0;
  std::optional<float> score_threshold;
  bool centered = false;

  [[nodiscard]] float score(std::int64_t batch, std::int64_t of_class, std::int64_t box) const {
    return scores[batch * score_strides[0] + of_class * score_strides[1] + box * score_strides[2]];
  }
};

struct Box {
  float x0, y0, x1, y1;
  [[nodiscard]] float area() const { return (x1 - x0) * (y1 - y0); }
};

Box box_of(const Candidates& all, std::int64_t batch, std::int64_t number) {
  const float* const at = all.boxes + batch * all.box_strides[0] + number * all.box_strides[1];
  float v[4];
  for (int i = 0; i < 4; ++i) v[i] = at[i * all.box_strides[2]];
  if (all.centered) return {v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2, v[1] + v[3] / 2};
  // Two opposite corners, y before x, in any order.
  return {std::min(v[1], v[3]), std::min(v[0], v[2]), std::max(v[1], v[3]), std::max(v[0], v[2])};
}

/// Whether the intersection over union exceeds the threshold.
bool overlaps(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (!(width > 0) || !(height > 0)) return false;
  const float common = width * height;
  const float either = a.area() + b.area() - common;
  return a.area() > 0 && b.area() > 0 && either > 0 && common / either > threshold;
}

/// The memory of a list with one axis.
struct List {
  std::int64_t* data;
  std::int64_t step;
  std::int64_t& operator[](std::int64_t i) const { return data[i * step]; }
};

/// A heap of box numbers with the best on top.
class Heap {
 public:
  Heap(const Candidates& all, std::int64_t batch, std::int64_t of_class, List numbers)
      : all_(all), batch_(batch), class_(of_class), numbers_(numbers) {
    for (std::int64_t box = 0; box < all.count; ++box)
      if (!all.score_threshold || all.score(batch, of_class, box) > *all.score_threshold)
        numbers_[size_++] = box;
    for (std::int64_t i = size_ / 2 - 1; i >= 0; --i) sift_down(i);
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  std::int64_t take() {
    const std::int64_t best = numbers_[0];
    numbers_[0] = numbers_[--size_];
    if (size_ > 0) sift_down(0);
    return best;
  }

 private:
  [[nodiscard]] bool better(std::int64_t a, std::int64_t b) const {
    const int order = compare(all_.score(batch_, class_, a), all_.score(batch_, class_, b));
    return order != 0 ? order > 0 : a < b;
  }
  void sift_down(std::int64_t hole) {
    const std::int64_t value = numbers_[hole];
    while (2 * hole + 1 < size_) {
      std::int64_t child = 2 * hole + 1;
      if (child + 1 < size_ && better(numbers_[child + 1], numbers_[child])) ++child;
      if (!better(numbers_[child], value)) break;
      numbers_[hole] = numbers_[child];
      hole = child;
    }
    numbers_[hole] = value;
  }

  const Candidates& all_;
  std::int64_t batch_, class_, size_ = 0;
  List numbers_;
};

/// Calls keep(batch, class, box) for every box that is kept. The list has room for the numbers of
/// all boxes: first the heap, then the boxes of this class that were kept.
template <class Keep>
void select(const Candidates& all, List numbers, const Keep& keep) {
  if (all.count == 0 || all.max_per_class <= 0) return;
  for (std::int64_t batch = 0; batch < all.batches; ++batch)
    for (std::int64_t of_class = 0; of_class < all.classes; ++of_class) {
      Heap heap(all, batch, of_class, numbers);
      // Each box that is taken frees an entry at the end of the heap.
      std::int64_t kept = 0;
      while (!heap.empty() && kept < all.max_per_class) {
        const std::int64_t box = heap.take();
        const Box mine = box_of(all, batch, box);
        bool suppressed = false;
        for (std::int64_t i = 0; i < kept && !suppressed; ++i)
          suppressed =
              overlaps(mine, box_of(all, batch, numbers[all.count - 1 - i]), all.iou_threshold);
        if (suppressed) continue;
        numbers[all.count - 1 - kept++] = box;
        keep(batch, of_class, box);
      }
    }
}

template <class T>
std::optional<T> scalar_of(const ir::InferCtx& ctx, int i) {
  if (!ctx.has(i)) return std::nullopt;
  const tensor::Tensor* const value = ctx.constant(i);
  if (value == nullptr || value->elements() != 1) return std::nullopt;
  return *static_cast<const T*>(value->data());
}

/// Returns how many boxes are kept; nullopt: not known yet.
std::optional<std::int64_t> known_count(const ir::InferCtx& ctx) {
  for (int i = 0; i < 5; ++i)
    if (ctx.has(i) && ctx.constant(i) == nullptr) return std::nullopt;
  const tensor::Tensor &boxes = *ctx.constant(kBoxes), &scores = *ctx.constant(kScores);
  Candidates all;
  all.boxes = static_cast<const float*>(boxes.data());
  all.scores = static_cast<const float*>(scores.data());
  const tensor::Shape of_boxes = tensor::contiguous_strides(boxes.shape());
  const tensor::Shape of_scores = tensor::contiguous_strides(scores.shape());
  std::copy_n(of_boxes.begin(), 3, all.box_strides.begin());
  std::copy_n(of_scores.begin(), 3, all.score_strides.begin());
  all.batches = boxes.shape()[0];
  all.classes = scores.shape()[1];
  all.count = boxes.shape()[1];
  all.max_per_class = scalar_of<std::int64_t>(ctx, kMaxPerClass).value_or(0);
  all.iou_threshold = scalar_of<float>(ctx, kIouThreshold).value_or(0);
  all.score_threshold = scalar_of<float>(ctx, kScoreThreshold);
  all.centered = ctx.attr(kCenterPointBox).integer() != 0;
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(all.count));
  std::int64_t kept = 0;
  select(all, {numbers.data(), 1}, [&](auto, auto, auto) { ++kept; });
  return kept;
}

Expected<void> check_operands(ir::InferCtx& ctx) {
  const Type &boxes = ctx.in(kBoxes), &scores = ctx.in(kScores);
  for (const int i : {kBoxes, kScores, kIouThreshold, kScoreThreshold})
    if (ctx.has(i) && ctx.dtype(i) != DType::f32)
      return invalid_model("input {} has elements of type {}, not f32", i,
                           dtype_name(ctx.dtype(i)));
  if (ctx.has(kMaxPerClass) && ctx.dtype(kMaxPerClass) != DType::i64)
    return invalid_model("input {} has elements of type {}, not i64", kMaxPerClass,
                         dtype_name(ctx.dtype(kMaxPerClass)));
  for (const int i : {kMaxPerClass, kIouThreshold, kScoreThreshold})
    if (ctx.has(i)) SCANLOOM_CHECK_OK(check_elements(ctx, i, 1, fmt::format("input {}", i)));
  for (const Type* type : {&boxes, &scores})
    if (type->ranked && type->rank() != 3)
      return invalid_model("{} has {} axes, not 3", type == &boxes ? "boxes" : "scores",
                           type->rank());
  if (boxes.ranked && boxes.dims[2].is_constant() && boxes.dims[2] != Dim(4))
    return invalid_model("boxes has {} numbers per box, not 4", boxes.dims[2].value());
  if (!boxes.ranked || !scores.ranked) return {};
  SCANLOOM_CHECK_OK(same_size(ctx, boxes.dims[0], scores.dims[0], "axis 0 of boxes and scores"));
  SCANLOOM_CHECK_OK(
      same_size(ctx, boxes.dims[1], scores.dims[2], "axis 1 of boxes and axis 2 of scores"));
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_operands(ctx));
  const std::int64_t centered = ctx.attr(kCenterPointBox).integer();
  if (centered != 0 && centered != 1)
    return invalid_model("center_point_box is {}, not 0 or 1", centered);
  const std::optional<std::int64_t> count = known_count(ctx);
  const Type& boxes = ctx.in(kBoxes);
  ctx.set(0, DType::i64, {count ? Dim(*count) : ctx.dims().fresh(), 3});
  ctx.set(1, DType::i64, {boxes.ranked ? boxes.dims[1] : ctx.dims().fresh()});
  return {};
}

template <class T>
std::optional<T> scalar_of(const tensor::Call& call, int i) {
  return call.has(i) ? std::optional(*call.in(i).data<const T>()) : std::nullopt;
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &boxes = call.in(kBoxes), &scores = call.in(kScores), &y = call.out(0);
  const Operand& per_box = call.out(1);
  Candidates all;
  all.boxes = boxes.data<const float>();
  all.scores = scores.data<const float>();
  std::copy_n(boxes.strides, 3, all.box_strides.begin());
  std::copy_n(scores.strides, 3, all.score_strides.begin());
  all.batches = boxes.dims[0];
  all.classes = scores.dims[1];
  all.count = boxes.dims[1];
  all.max_per_class = scalar_of<std::int64_t>(call, kMaxPerClass).value_or(0);
  all.iou_threshold = scalar_of<float>(call, kIouThreshold).value_or(0);
  all.score_threshold = scalar_of<float>(call, kScoreThreshold);
  all.centered = call.attrs[kCenterPointBox].integer() != 0;
  // The memory of the second result is used for the selection before it is filled.
  const List numbers{per_box.data<std::int64_t>(), per_box.strides[0]};
  std::int64_t kept = 0;
  select(all, numbers, [&](std::int64_t batch, std::int64_t of_class, std::int64_t box) {
    if (kept >= y.dims[0]) return;
    std::int64_t* const row = y.data<std::int64_t>() + kept++ * y.strides[0];
    const std::int64_t values[] = {batch, of_class, box};
    for (int i = 0; i < 3; ++i) row[i * y.strides[1]] = values[i];
  });
  for (std::int64_t i = 0; i < all.count; ++i) numbers[i] = 0;
  for (std::int64_t i = 0; i < kept; ++i)
    ++numbers[y.data<const std::int64_t>()[i * y.strides[0] + 2 * y.strides[1]]];
  return tensor::Status::ok;
}

}  // namespace

constinit const ir::OpDef non_max_suppression_op{
    .name = "non_max_suppression",
    .doc =
        "Per batch and class the boxes [batch, box, 4] with the best scores [batch, class, box], "
        "without those that overlap a better one by more than iou_threshold of their union: rows "
        "of batch, class and box. Boxes are two corners y, x, y, x, or with `center_point_box` x, "
        "y, width, height. Only scores above score_threshold count; absent, max_per_class is 0. "
        "The second result says how often each box was kept.",
    .inputs = {{"boxes", ir::Accept::real},
               {"scores", ir::Accept::real},
               {"max_per_class", ir::Accept::index, ir::Arity::optional},
               {"iou_threshold", ir::Accept::real, ir::Arity::optional},
               {"score_threshold", ir::Accept::real, ir::Arity::optional}},
    .outputs = {"selected", "per_box"},
    .attrs = {{"center_point_box", tensor::AttrKind::integer}},
    .infer = infer,
    .reference = reference,
};

}  // namespace scanloom::ops
