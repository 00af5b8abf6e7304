// What suppress_boxes and matrix_nms share: their boxes and scores as operands, and inference.
#pragma once

#include <memory>
#include <new>

#include "ir/infer_ctx.h"
#include "ops/vision/box_overlap.h"
#include "tensor/call.h"

namespace scanloom::ops {

/// Returns the form that an attribute names; corners for an unknown name.
BoxForm box_form(std::string_view text);

/// Sets output 0, f32 scores [batch, class, box], for input 0, the boxes [batch, box, numbers], and
/// input 1, the scores. Errors: invalid_model; the form is unknown.
Expected<void> set_box_scores(ir::InferCtx& ctx, std::string_view form);

/// The boxes of one image and memory for a selection among them.
class BoxMemory {
 public:
  /// Without memory if `count` boxes do not fit: check it.
  explicit BoxMemory(std::int64_t count)
      : boxes(new(std::nothrow) OverlapBox[size(count)]),
        order(new(std::nothrow) std::int64_t[size(count)]),
        kept(new(std::nothrow) std::int64_t[size(count)]),
        seen(new(std::nothrow) std::int64_t[size(count)]),
        values(new(std::nothrow) float[size(count)]) {}
  explicit operator bool() const { return boxes && order && kept && seen && values; }

  /// Reads the boxes of an image.
  void read(const OverlapRule& rule, const tensor::Operand& operand, std::int64_t image) {
    const float* const at = operand.data<const float>() + image * operand.strides[0];
    for (std::int64_t i = 0; i < operand.dims[1]; ++i)
      boxes[i] = OverlapBox::of(rule, at + i * operand.strides[1], operand.strides[2]);
  }

  // By box: its sides; candidates in some order; those kept; of how many kept ones it has been
  // compared with; a number.
  std::unique_ptr<OverlapBox[]> boxes;
  std::unique_ptr<std::int64_t[]> order, kept, seen;
  std::unique_ptr<float[]> values;

 private:
  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count) + 1; }
};

/// The scores of one class of an image, in an operand with the axes batch, class and box.
struct ScoreRow {
  float* data = nullptr;
  std::int64_t step = 0;

  static ScoreRow of(const tensor::Operand& scores, std::int64_t image, std::int64_t of_class) {
    return {scores.data<float>() + image * scores.strides[0] + of_class * scores.strides[1],
            scores.strides[2]};
  }
  float& operator[](std::int64_t box) const { return data[box * step]; }
};

/// Moves the best of `count` candidates to the front, in descending order of score, the first of
/// equal ones first. Returns how many there are, at most `limit` unless that is negative.
std::int64_t best_first(std::int64_t* candidates, std::int64_t count, std::int64_t limit,
                        ScoreRow scores);

}  // namespace scanloom::ops
