// PointwisePlan: an element program over bound operands, lowered to functions over columns of at
// most kBlock elements. Outer axes are walked; within them a window of elements is taken block by
// block: operands that lie in a row are read and written in place, the others through columns in
// scratch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/element_fns.h"
#include "kernels/kernel.h"
#include "tensor/shape.h"

namespace scanloom::kernels {

inline constexpr std::int64_t kBlock = 256;

/// Where a step finds a value: an entry of the table of pointers that a run keeps.
using ValueId = std::int16_t;

struct PointwiseStep {
  ElementFn fn = nullptr;
  ValueId out = 0, a = 0, b = 0, c = 0;
};

/// How an operand lies within the window.
enum class Lie : std::uint8_t { row, single, strided };

struct PointwiseOperand {
  std::int16_t index = 0;  ///< of the call's inputs, or of its outputs
  ValueId value = 0;       ///< the pointer that steps use
  ValueId column = -1;     ///< of strided operands: where they are gathered, or scattered from
  Lie lie = Lie::row;
  std::uint8_t bytes = 4;
  std::array<std::int64_t, tensor::kMaxRank> strides{};  ///< in bytes, of all axes
};

/// One element copied over a column, whenever the window moves.
struct Spread {
  ValueId from = 0, to = 0;
  std::uint8_t bytes = 4;
};

struct PointwisePlan {
  int rank = 0, window = 0;  ///< axes [window, rank) make the window
  std::array<std::int64_t, tensor::kMaxRank> dims{};
  std::int64_t window_elements = 1;
  bool empty = false;
  std::vector<PointwiseOperand> inputs, outputs;
  std::vector<Spread> spreads;
  std::vector<PointwiseStep> steps;
  std::vector<std::uint64_t> constants;
  /// The table of pointers: constants, columns in scratch, then one entry per operand.
  ValueId first_column = 0, first_operand = 0;
  ValueId value_count = 0;
  std::int64_t column_bytes = 0;

  /// The table's, in whole lines of the cache.
  [[nodiscard]] std::int64_t table_bytes() const {
    return (value_count * std::int64_t{8} + 63) / 64 * 64;
  }
  [[nodiscard]] std::int64_t scratch_bytes() const {
    return table_bytes() + (first_operand - first_column) * column_bytes;
  }
};

/// Axes, window and operands, but for the places of their columns. Precondition: the sizes of all
/// operands broadcast to those of the first result, which the others have.
void lay_out(const PrepareCtx& ctx, PointwisePlan& plan);

/// Lowers the program into `plan`. Returns why it cannot be; nullopt: it is done.
std::optional<Refusal> lower(const PrepareCtx& ctx, PointwisePlan& plan);

/// False: it was asked to stop, and has.
bool run_plan(const PointwisePlan& plan, const tensor::Call& call) noexcept;

/// Whether all is one window whose operands lie in rows, and there is something to do: run_flat.
bool is_flat(const PointwisePlan& plan);
/// The same with less to set up: loops over a few elements spend most of their time there.
bool run_flat(const PointwisePlan& plan, const tensor::Call& call) noexcept;

}  // namespace scanloom::kernels
