// The layout of a row program's operands: the axes that they share on either side of the rows'
// border, and how rows are cut into blocks and chunks.
#include <algorithm>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/line_axis.h"
#include "kernels/rows_plan.h"
#include "tensor/for_each.h"

namespace scanloom::kernels {
namespace {

using tensor::Operand;
using tensor::Shape;

/// The most rows of a block.
constexpr std::int64_t kMaxBlockRows = 256;

/// Joins neighbouring axes on the same side of the rows' border, if all operands allow it.
class RowLayout {
 public:
  RowLayout(const PrepareCtx& ctx, RowsPlan& plan) : ctx_(ctx), plan_(plan) {}

  void run() {
    const Shape& dims = ctx_.rows->dims;
    for (const Operand& input : ctx_.inputs) strides_.push_back(strides_of(input));
    std::vector<std::vector<std::int64_t>> joined(strides_.size());  // by operand
    for (int axis = 0; axis < dims.rank(); ++axis) {
      if (axis == ctx_.rows->first_reduced) plan_.row_rank = plan_.rank;
      if (dims[axis] == 1) continue;
      const bool in_row = axis >= ctx_.rows->first_reduced;
      (in_row ? plan_.size : plan_.rows) *= dims[axis];
      const bool joins = plan_.rank > (in_row ? plan_.row_rank : 0) && joins_last(joined, axis);
      if (joins) {
        plan_.dims[last()] *= dims[axis];
      } else {
        ++plan_.rank;
        plan_.dims[last()] = dims[axis];
      }
      for (std::size_t i = 0; i < joined.size(); ++i) {
        if (joins) joined[i].pop_back();
        joined[i].push_back(strides_[i][axis]);
      }
    }
    for (std::size_t i = 0; i < joined.size(); ++i) add_input(i, joined[i]);
    for (std::size_t i = 0; i < ctx_.outputs.size(); ++i) add_output(i);
  }

 private:
  [[nodiscard]] std::size_t last() const { return static_cast<std::size_t>(plan_.rank - 1); }

  [[nodiscard]] Shape strides_of(const Operand& operand) const {
    const auto rank = static_cast<std::size_t>(operand.rank);
    Shape strides = tensor::broadcast_strides({operand.dims, rank}, {operand.strides, rank},
                                              ctx_.rows->dims.dims());
    for (int axis = 0; axis < strides.rank(); ++axis)
      strides[axis] *= static_cast<std::int64_t>(dtype_bytes(operand.dtype));
    return strides;
  }

  [[nodiscard]] bool joins_last(const std::vector<std::vector<std::int64_t>>& joined,
                                int axis) const {
    for (std::size_t i = 0; i < joined.size(); ++i)
      if (joined[i].back() != strides_[i][axis] * ctx_.rows->dims[axis]) return false;
    return true;
  }

  void add_input(std::size_t i, const std::vector<std::int64_t>& strides) {
    RowOperand operand{.index = static_cast<std::int16_t>(i),
                       .bytes = static_cast<std::uint8_t>(dtype_bytes(ctx_.inputs[i].dtype))};
    std::ranges::copy(strides, operand.strides.begin());
    operand.kind = kind_of(operand);
    plan_.inputs.push_back(operand);
  }

  void add_output(std::size_t i) {
    const Operand& output = ctx_.outputs[i];
    const bool per_row = plan_.size > 1 && output.elements() == plan_.rows;
    plan_.outputs.push_back(
        {.index = static_cast<std::int16_t>(i),
         .kind = per_row ? RowOperand::Kind::per_row : RowOperand::Kind::elements,
         .bytes = static_cast<std::uint8_t>(dtype_bytes(output.dtype))});
  }

  [[nodiscard]] RowOperand::Kind kind_of(const RowOperand& operand) const {
    bool zero_rows = true, zero_inner = true, inner = true, all = true;
    std::int64_t expected = operand.bytes;
    for (int axis = plan_.rank - 1; axis >= 0; --axis) {
      const auto i = static_cast<std::size_t>(axis);
      const bool in_row = axis >= plan_.row_rank;
      (in_row ? zero_inner : zero_rows) &= operand.strides[i] == 0;
      all &= operand.strides[i] == expected;
      if (in_row) inner &= operand.strides[i] == expected;
      expected *= plan_.dims[i];
    }
    if (zero_rows && zero_inner) return RowOperand::Kind::single;
    if (all) return RowOperand::Kind::elements;
    if (zero_inner) return RowOperand::Kind::per_row;
    return zero_rows && inner ? RowOperand::Kind::inner : RowOperand::Kind::strided;
  }

  const PrepareCtx& ctx_;
  RowsPlan& plan_;
  std::vector<Shape> strides_;  // by input, in bytes
};

/// Chooses how many rows a block has, and how many tasks there are.
void cut(RowsPlan& plan) {
  plan.block = std::clamp<std::int64_t>(kBlockElements / plan.size, 1, kMaxBlockRows);
  // Short sums are taken for 16 rows at a time.
  if (plan.size < tensor::kMinInterleaved)
    plan.block = std::max<std::int64_t>(plan.block, 16) / 16 * 16;
  plan.block = std::min(plan.block, plan.rows);
  if (plan.rows * plan.size >= kMinThreadedElements / 4) {
    const std::int64_t threads = pool_threads();
    plan.block = std::clamp<std::int64_t>(plan.rows / (2 * threads), 1, plan.block);
    plan.slots = std::clamp<std::int64_t>(plan.rows / plan.block, 1, threads);
  }
  plan.chunk = plan.block * plan.size;
  if (plan.block > 1 || plan.size <= kMaxChunk) return;
  // Chunks of about the same length.
  const std::int64_t chunks = (plan.size + kMaxChunk - 1) / kMaxChunk;
  plan.chunk = ((plan.size + chunks - 1) / chunks + tensor::kMaxParts - 1) / tensor::kMaxParts *
               tensor::kMaxParts;
}

}  // namespace

void lay_out_rows(const PrepareCtx& ctx, RowsPlan& plan) {
  RowLayout(ctx, plan).run();
  cut(plan);
}

}  // namespace scanloom::kernels
