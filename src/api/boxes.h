// Copies boxes between row-major tensors: the steps of one sequence into a lane, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <scanloom/dtype.h>

#include "tensor/shape.h"

namespace scanloom {

/// Where a box begins in a row-major tensor of these sizes.
template <class Byte>
struct BoxAt {
  Byte* data = nullptr;
  tensor::Shape shape, at;
};

/// Copies the elements of a box of these sizes. Precondition: it is inside both tensors, which do
/// not overlap.
void copy_box(DType dtype, const tensor::Shape& box, const BoxAt<const std::byte>& from,
              const BoxAt<std::byte>& to) noexcept;

/// The layout of a tensor in which steps and lanes are neighbouring axes with no other before them:
/// `row` consecutive bytes belong to a step of a lane.
struct Interleaved {
  std::int64_t lanes = 0, row = 0;
};

/// Returns the layout of a tensor with these axes of steps and lanes; nullopt if it is another one.
[[nodiscard]] std::optional<Interleaved> interleaved(DType dtype, const tensor::Shape& shape,
                                                     int steps, int lanes);

/// Copies `count` steps of one lane after another: `sequences[i]` begins with the next step of lane
/// i, `rows` with lane 0 of the first step. Touches `rows` in the order of the steps, so that it
/// stays in the cache.
void interleave(const Interleaved& layout, std::int64_t count,
                std::span<const std::byte* const> sequences, std::byte* rows) noexcept;
/// The opposite, for the first lanes.
void separate(const Interleaved& layout, std::int64_t count, const std::byte* rows,
              std::span<std::byte* const> sequences) noexcept;

/// A copy of the shape with another size on one axis.
[[nodiscard]] tensor::Shape with_size(tensor::Shape shape, int axis, std::int64_t size);
/// Position 0, but `position` on one axis.
[[nodiscard]] tensor::Shape position_on(int rank, int axis, std::int64_t position);

}  // namespace scanloom
