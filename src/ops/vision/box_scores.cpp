#include "ops/vision/box_scores.h"

#include "ops/sizes.h"

namespace scanloom::ops {

using tensor::Dim;
using tensor::Type;

namespace {

constexpr std::string_view kForms[] = {"corners", "ordered", "center", "rotated"};

}  // namespace

BoxForm box_form(std::string_view text) {
  const auto* const found = std::ranges::find(kForms, text);
  return found == std::end(kForms) ? BoxForm::corners
                                   : static_cast<BoxForm>(found - std::begin(kForms));
}

Expected<void> set_box_scores(ir::InferCtx& ctx, std::string_view form) {
  if (std::ranges::find(kForms, form) == std::end(kForms))
    return invalid_model("form is '{}', not corners, ordered, center or rotated", form);
  const Type &boxes = ctx.in(0), &scores = ctx.in(1);
  for (int i = 0; i < 2; ++i)
    if (ctx.dtype(i) != DType::f32)
      return invalid_model("input {} has elements of type {}, not f32", i,
                           dtype_name(ctx.dtype(i)));
  for (const Type* type : {&boxes, &scores})
    if (type->ranked && type->rank() != 3)
      return invalid_model("{} has {} axes, not 3", type == &boxes ? "boxes" : "scores",
                           type->rank());
  const std::int64_t numbers = box_form(form) == BoxForm::rotated ? 6 : 4;
  if (boxes.ranked && boxes.dims[2].is_constant() && boxes.dims[2] != Dim(numbers))
    return invalid_model("boxes has {} numbers per box, not {}", boxes.dims[2].value(), numbers);
  if (!scores.ranked) {
    ctx.set(0, ctx.fresh(DType::f32, 3));
    return {};
  }
  std::vector<Dim> sizes = scores.dims;
  if (boxes.ranked) {
    SCANLOOM_TRY(sizes[0], same_size(ctx, boxes.dims[0], sizes[0], "axis 0 of boxes and scores"));
    SCANLOOM_TRY(sizes[2],
                 same_size(ctx, boxes.dims[1], sizes[2], "axis 1 of boxes and axis 2 of scores"));
  }
  return set_sizes(ctx, 0, DType::f32, std::move(sizes));
}

std::int64_t best_first(std::int64_t* candidates, std::int64_t count, std::int64_t limit,
                        ScoreRow scores) {
  const std::int64_t taken = limit < 0 ? count : std::min(limit, count);
  std::partial_sort(candidates, candidates + taken, candidates + count,
                    [&](std::int64_t a, std::int64_t b) {
                      const float x = scores[a], y = scores[b];
                      return x > y || (x == y && a < b);
                    });
  return taken;
}

}  // namespace scanloom::ops
