// The selection of boxes by non_max_suppression: in descending order of score, the first of equal
// ones first, one class after the other. Used by the operator where the number of boxes that are
// kept is not known before, and by the kernel; the reference of the operator says what is computed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/function_ref.h"
#include "tensor/call.h"
#include "tensor/tensor.h"

namespace scanloom {

/// A box by its sides.
struct Box {
  float x0, y0, x1, y1;
  [[nodiscard]] float area() const { return (x1 - x0) * (y1 - y0); }
};

/// The operands, whatever their layout, and the parameters. Strides are in elements: of batches,
/// boxes and numbers, and of batches, classes and boxes.
struct BoxCandidates {
  const float *boxes = nullptr, *scores = nullptr;
  std::array<std::int64_t, 3> box_strides{}, score_strides{};
  std::int64_t batches = 0, classes = 0, count = 0;
  std::int64_t max_per_class = 0;
  float iou_threshold = 0;
  std::optional<float> score_threshold;
  bool centered = false;

  /// Returns those of a call of the operator, or of tensors in the order of its operands.
  static BoxCandidates of(const tensor::Call& call);
  static BoxCandidates of(std::span<const tensor::Tensor* const> operands, bool centered);

  [[nodiscard]] float score(std::int64_t batch, std::int64_t of_class, std::int64_t box) const {
    return scores[batch * score_strides[0] + of_class * score_strides[1] + box * score_strides[2]];
  }
  [[nodiscard]] Box box(std::int64_t batch, std::int64_t number) const;
};

/// Memory for a selection among `count` boxes.
struct BoxScratch {
  std::uint64_t* keys = nullptr;
  std::array<float*, 5> kept{};  ///< the sides and the area of each box that was kept

  static constexpr std::int64_t bytes(std::int64_t count) {
    return count * static_cast<std::int64_t>(sizeof(std::uint64_t) + 5 * sizeof(float));
  }
  /// Precondition: `memory` is aligned for 64-bit numbers.
  static BoxScratch in(std::byte* memory, std::int64_t count) {
    BoxScratch scratch{.keys = reinterpret_cast<std::uint64_t*>(memory)};
    auto* floats = reinterpret_cast<float*>(scratch.keys + count);
    for (float*& list : scratch.kept) {
      list = floats;
      floats += count;
    }
    return scratch;
  }
};

/// Receives (batch, class, box).
using KeepBox = FunctionRef<void(std::int64_t, std::int64_t, std::int64_t)>;

/// Calls keep for every box that is kept. Precondition: there are at most 2^32 boxes.
void select_boxes(const BoxCandidates& all, const BoxScratch& scratch, KeepBox keep);

}  // namespace scanloom
