// PointwisePlan: an element program over bound operands, lowered to functions over columns of at
// most kMaxBlock elements. Outer axes are walked one index at a time; the window of inner axes is
// processed block by block. Operands that are contiguous in the window are read and written in
// place; the others go through columns in scratch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/element_fns.h"
#include "kernels/kernel.h"
#include "tensor/shape.h"

namespace scanloom::kernels {

/// Elements of a block, at least and at most: as many as keep all columns in a part of L1.
inline constexpr std::int64_t kMinBlock = 256, kMaxBlock = 1024;
/// Elements per task when threads share a call; a multiple of all blocks.
inline constexpr std::int64_t kShare = 32 * 1024;

/// Where a step finds a value: an index into the pointer table of a run.
using ValueId = std::int16_t;

struct PointwiseStep {
  ElementFn fn = nullptr;
  ValueId out = 0, a = 0, b = 0, c = 0;
};

/// The layout of an operand within the window.
enum class Lie : std::uint8_t { row, single, strided };

struct PointwiseOperand {
  std::int16_t index = 0;  ///< among the call's inputs, or its outputs
  ValueId value = 0;       ///< the pointer that steps use
  ValueId column = -1;     ///< for strided operands: gathered into, or scattered from, this column
  Lie lie = Lie::row;
  std::uint8_t bytes = 4;
  std::array<std::int64_t, tensor::kMaxRank> strides{};  ///< in bytes, for all axes
};

/// One element broadcast over a column whenever the window moves.
struct Spread {
  ValueId from = 0, to = 0;
  std::uint8_t bytes = 4;
};

/// The axes [first, last) of an operand; strides are in bytes.
struct ElementAxes {
  const std::int64_t* dims = nullptr;
  const std::int64_t* strides = nullptr;
  int first = 0, last = 0;
  int bytes = 4;
};

/// Copies elements [start, start + count) of the axes, in row-major order, to a column.
/// Precondition: there is an axis.
void gather(const ElementAxes& axes, std::byte* base, std::int64_t start, std::int64_t count,
            std::byte* column);

/// Fills a column with one element of so many bytes.
void fill_column(const std::byte* from, int bytes, std::int64_t count, std::byte* to);

struct PointwisePlan {
  int rank = 0, window = 0;  ///< axes [window, rank) form the window
  std::array<std::int64_t, tensor::kMaxRank> dims{};
  std::int64_t window_elements = 1, windows = 1;
  std::int64_t block = kMinBlock;
  std::int64_t slots = 1;  ///< tasks that threads share, each with scratch of its own
  bool empty = false;
  std::vector<PointwiseOperand> inputs, outputs;
  std::vector<Spread> spreads;
  std::vector<PointwiseStep> steps;
  std::vector<std::uint64_t> constants;
  /// The pointer table holds constants, then columns in scratch, then one entry per operand.
  ValueId first_column = 0, first_operand = 0;
  ValueId value_count = 0;
  std::int64_t column_bytes = 0;

  /// The size of the table, rounded up to whole cache lines.
  [[nodiscard]] std::int64_t table_bytes() const {
    return (value_count * std::int64_t{8} + 63) / 64 * 64;
  }
  /// The scratch of one slot.
  [[nodiscard]] std::int64_t slot_bytes() const {
    return table_bytes() + (first_operand - first_column) * column_bytes;
  }
  /// Windows are shared in parts.
  [[nodiscard]] std::int64_t parts() const { return (window_elements + kShare - 1) / kShare; }
};

/// Fills in axes, window and operands, but not where their columns are. Precondition: all operands
/// broadcast to the shape of the first result, and the other results have that shape.
void lay_out(const PrepareCtx& ctx, PointwisePlan& plan);

/// Lowers the program into `plan`. Returns why it cannot be; nullopt: it is done.
std::optional<Refusal> lower(const PrepareCtx& ctx, PointwisePlan& plan);

/// Runs parts [first, last), counted over all windows, with a slot's scratch. Returns false if the
/// run was asked to stop, and did.
bool run_parts(const PointwisePlan& plan, const tensor::Call& call, std::byte* scratch,
               std::int64_t first, std::int64_t last) noexcept;
/// Runs elements [first, last) of the first result, in the order of its memory, as run_parts()
/// does.
bool run_elements(const PointwisePlan& plan, const tensor::Call& call, std::byte* scratch,
                  std::int64_t first, std::int64_t last) noexcept;

/// Whether run_flat() can run the plan: one non-empty window whose operands are all rows.
bool is_flat(const PointwisePlan& plan);
/// As run_parts() for all, with less setup, which dominates loops over a few elements.
bool run_flat(const PointwisePlan& plan, const tensor::Call& call) noexcept;

}  // namespace scanloom::kernels
