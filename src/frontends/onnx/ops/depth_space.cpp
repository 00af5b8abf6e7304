// DepthToSpace and SpaceToDepth.
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

using Axes = std::vector<std::int64_t>;

/// The sizes of a reshape. Each is a known number or a computed one-element list.
class Sizes {
 public:
  explicit Sizes(NodeCtx& ctx) : ctx_(ctx) {}

  void add(std::int64_t number) {
    const std::int64_t one[] = {number};
    parts_.push_back(ctx_.integers_value(one));
  }
  /// The size of an axis of x, times `factor`, divided by `divisor`.
  Expected<void> add(ValueId x, int axis, std::int64_t factor, std::int64_t divisor) {
    SCANLOOM_TRY(ValueId size, ctx_.op(ops::dim_op, {x}, {{"axis", axis}}));
    if (factor != 1) {
      SCANLOOM_TRY(size, ctx_.op(ops::mul_op, {size, ctx_.integer_value(factor)}));
    }
    if (divisor != 1) {
      SCANLOOM_TRY(size, ctx_.op(ops::div_op, {size, ctx_.integer_value(divisor)}));
    }
    SCANLOOM_TRY(size, ctx_.op(ops::unsqueeze_op, {size}, {{"axes", Axes{0}}}));
    parts_.push_back(size);
    return {};
  }
  Expected<ValueId> reshape(ValueId x) {
    SCANLOOM_TRY(const ValueId shape, ctx_.op(ops::concat_op, std::move(parts_), {{"axis", 0}}));
    return ctx_.op(ops::reshape_op, {x, shape}, {{"allowzero", 1}});
  }

 private:
  NodeCtx& ctx_;
  std::vector<ValueId> parts_;
};

/// Returns blocksize, which must divide the sizes of the given axes of x. x must have four axes.
Expected<std::int64_t> block_of(NodeCtx& ctx, ValueId x, std::initializer_list<int> axes,
                                bool squared) {
  SCANLOOM_TRY(const std::int64_t block, ctx.required_integer("blocksize"));
  if (block < 1 || block > std::int64_t{1} << 20)
    return invalid_model("attribute 'blocksize' is {}, outside [1, 2^20]", block);
  SCANLOOM_TRY(const int rank, ctx.rank(0, x));
  if (rank != 4) return invalid_model("{} has {} axes, not 4", ctx.describe_input(0), rank);
  const std::int64_t divisor = squared ? block * block : block;
  for (const int axis : axes) {
    const tensor::Dim size = ctx.type(x).dims[static_cast<std::size_t>(axis)];
    if (size.is_constant() && size.value() % divisor != 0)
      return invalid_model("{} has size {} on axis {}, which is not divisible by {}",
                           ctx.describe_input(0), size.value(), axis, divisor);
  }
  return block;
}

Expected<bool> depth_first(NodeCtx& ctx) {
  SCANLOOM_TRY(const std::string mode, ctx.text("mode", "DCR"));
  if (mode != "DCR" && mode != "CRD")
    return invalid_model("attribute 'mode' is '{}', neither DCR nor CRD", mode);
  return mode == "DCR";
}

}  // namespace

// Reshapes [b, c, h, w] to [b, n, n, c', h, w], or for CRD to [b, c', n, n, h, w], and transposes
// to [b, c', h, n, w, n].
Expected<void> convert_depth_to_space(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t block, block_of(ctx, x, {1}, true));
  SCANLOOM_TRY(const bool depth, depth_first(ctx));
  Sizes split(ctx);
  SCANLOOM_CHECK_OK(split.add(x, 0, 1, 1));
  if (!depth) SCANLOOM_CHECK_OK(split.add(x, 1, 1, block * block));
  split.add(block);
  split.add(block);
  if (depth) SCANLOOM_CHECK_OK(split.add(x, 1, 1, block * block));
  SCANLOOM_CHECK_OK(split.add(x, 2, 1, 1));
  SCANLOOM_CHECK_OK(split.add(x, 3, 1, 1));
  SCANLOOM_TRY(ValueId y, split.reshape(x));
  const Axes perm = depth ? Axes{0, 3, 4, 1, 5, 2} : Axes{0, 1, 4, 2, 5, 3};
  SCANLOOM_TRY(y, ctx.op(ops::transpose_op, {y}, {{"perm", perm}}));
  Sizes joined(ctx);
  SCANLOOM_CHECK_OK(joined.add(x, 0, 1, 1));
  SCANLOOM_CHECK_OK(joined.add(x, 1, 1, block * block));
  SCANLOOM_CHECK_OK(joined.add(x, 2, block, 1));
  SCANLOOM_CHECK_OK(joined.add(x, 3, block, 1));
  SCANLOOM_TRY(y, joined.reshape(y));
  ctx.set_output(0, y);
  return {};
}

// Transposes [b, c, h', n, w', n] to [b, n, n, c, h', w'], or for CRD to [b, c, n, n, h', w'].
Expected<void> convert_space_to_depth(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t block, block_of(ctx, x, {2, 3}, false));
  SCANLOOM_TRY(const bool depth, depth_first(ctx));
  Sizes split(ctx);
  SCANLOOM_CHECK_OK(split.add(x, 0, 1, 1));
  SCANLOOM_CHECK_OK(split.add(x, 1, 1, 1));
  SCANLOOM_CHECK_OK(split.add(x, 2, 1, block));
  split.add(block);
  SCANLOOM_CHECK_OK(split.add(x, 3, 1, block));
  split.add(block);
  SCANLOOM_TRY(ValueId y, split.reshape(x));
  const Axes perm = depth ? Axes{0, 3, 5, 1, 2, 4} : Axes{0, 1, 3, 5, 2, 4};
  SCANLOOM_TRY(y, ctx.op(ops::transpose_op, {y}, {{"perm", perm}}));
  Sizes joined(ctx);
  SCANLOOM_CHECK_OK(joined.add(x, 0, 1, 1));
  SCANLOOM_CHECK_OK(joined.add(x, 1, block * block, 1));
  SCANLOOM_CHECK_OK(joined.add(x, 2, 1, block));
  SCANLOOM_CHECK_OK(joined.add(x, 3, 1, block));
  SCANLOOM_TRY(y, joined.reshape(y));
  ctx.set_output(0, y);
  return {};
}

}  // namespace scanloom::onnx
