// Boxes are selected by descending score (the first of equal ones first), one class after the
// other.
#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "opmath/box_selection.h"
#include "ops/index/element_order.h"
#include "ops/indices.h"
#include "ops/ops.h"
#include "ops/sized_results.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {
namespace non_max_suppression {

using tensor::Dim;
using tensor::Operand;
using tensor::Type;

constexpr int kBoxes = 0;
constexpr int kScores = 1;
constexpr int kMaxPerClass = 2;
constexpr int kIouThreshold = 3;
constexpr int kScoreThreshold = 4;
constexpr int kInputs = 5;
constexpr int kCenterPointBox = 0;

using Candidates = BoxCandidates;

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
        const Box mine = all.box(batch, box);
        bool suppressed = false;
        for (std::int64_t i = 0; i < kept && !suppressed; ++i)
          suppressed =
              overlaps(mine, all.box(batch, numbers[all.count - 1 - i]), all.iou_threshold);
        if (suppressed) continue;
        numbers[all.count - 1 - kept++] = box;
        keep(batch, of_class, box);
      }
    }
}

using Memory = std::vector<std::uint64_t>;

Memory memory_for(const Candidates& all) {
  return Memory(static_cast<std::size_t>(BoxScratch::bytes(all.count) + 7) / sizeof(std::uint64_t));
}

BoxScratch scratch_in(Memory& memory, const Candidates& all) {
  return BoxScratch::in(reinterpret_cast<std::byte*>(memory.data()), all.count);
}

/// Returns how many boxes are kept; nullopt: not known yet.
std::optional<std::int64_t> known_count(const ir::InferCtx& ctx) {
  std::array<const tensor::Tensor*, kInputs> operands{};
  for (int i = 0; i < kInputs; ++i) {
    if (ctx.has(i) && ctx.constant(i) == nullptr) return std::nullopt;
    if (ctx.has(i)) operands[static_cast<std::size_t>(i)] = ctx.constant(i);
  }
  const auto all = Candidates::of(operands, ctx.attr(kCenterPointBox).integer() != 0);
  Memory memory = memory_for(all);
  std::int64_t kept = 0;
  select_boxes(all, scratch_in(memory, all), [&](auto, auto, auto) { ++kept; });
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

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &y = call.out(0), &per_box = call.out(1);
  const Candidates all = Candidates::of(call);
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

}  // namespace non_max_suppression
}  // namespace

Expected<void> selected_boxes(const tensor::ObjectCall& call) {
  std::array<const tensor::Tensor*, non_max_suppression::kInputs> operands{};
  for (std::size_t i = 0; i < non_max_suppression::kInputs; ++i)
    if (call.has(i)) operands[i] = &call.tensor(i);
  const auto all = non_max_suppression::Candidates::of(
      operands, call.attrs[non_max_suppression::kCenterPointBox].integer() != 0);
  SCANLOOM_CHECK_OK(call.memory.check(BoxScratch::bytes(all.count)));
  non_max_suppression::Memory memory = non_max_suppression::memory_for(all);
  SCANLOOM_TRY(tensor::Tensor per_box, tensor::Tensor::zeros(DType::i64, {all.count}));
  auto* const counts = static_cast<std::int64_t*>(per_box.mutable_data());
  std::vector<std::int64_t> rows;
  select_boxes(all, non_max_suppression::scratch_in(memory, all),
               [&](std::int64_t batch, std::int64_t of_class, std::int64_t box) {
                 for (const std::int64_t value : {batch, of_class, box}) rows.push_back(value);
                 ++counts[box];
               });
  SCANLOOM_TRY(tensor::Tensor selected,
               tensor::Tensor::copy_of(DType::i64, {std::ssize(rows) / 3, 3}, rows.data()));
  SCANLOOM_CHECK_OK(call.give(0, std::move(selected)));
  return call.give(1, std::move(per_box));
}

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
    .infer = non_max_suppression::infer,
    .reference = non_max_suppression::reference,
};

}  // namespace scanloom::ops
