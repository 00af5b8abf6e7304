// Operations that move blocks of elements between axes: BatchToSpace, DepthToSpace,
// ShuffleChannels, SpaceToBatch, SpaceToDepth. Each becomes a reshape, a transpose and a reshape.
#include <algorithm>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;
using ops::Composer;

namespace {

using Ints = std::vector<std::int64_t>;

/// The sizes of a reshape of x, known or computed.
class Sizes {
 public:
  Sizes(Composer& c, ValueId x) : c_(c), x_(x) {}

  void add(std::int64_t number) { parts_.push_back(c_.list({number})); }
  /// The size of an axis, times `factor`, divided by `divisor`.
  void add(int axis, std::int64_t factor, std::int64_t divisor) {
    ValueId size = c_.dim(x_, axis);
    if (factor != 1) size = c_.mul(size, c_.number(factor));
    if (divisor != 1) size = c_.div(size, c_.number(divisor));
    parts_.push_back(c_.unsqueeze(size, {0}));
  }
  ValueId reshape(ValueId x) { return c_.reshape(x, c_.concat(std::move(parts_), 0)); }

 private:
  Composer& c_;
  ValueId x_;
  std::vector<ValueId> parts_;
};

/// Error: the size is known and not a multiple of `divisor`.
Expected<void> check_divides(LayerCtx& ctx, ValueId x, int axis, std::int64_t divisor) {
  const tensor::Dim size = ctx.type(x).dims[static_cast<std::size_t>(axis)];
  if (!size.is_constant() || size.value() % divisor == 0) return {};
  return invalid_model("input 0 has size {} on axis {}, which is not divisible by {}", size.value(),
                       axis, divisor);
}

/// x with a batch axis, a channel axis and `spatial` further axes, each split into blocks of
/// `block`.
struct Blocks {
  ValueId x;
  int spatial = 0;
  std::int64_t block = 1, all = 1;  // all: elements of a block over all axes
  bool blocks_first = true;

  static Expected<Blocks> of(LayerCtx& ctx);
};

Expected<Blocks> Blocks::of(LayerCtx& ctx) {
  Blocks blocks;
  SCANLOOM_TRY(blocks.x, ctx.in(0));
  SCANLOOM_TRY(const int rank, ctx.rank(0, blocks.x, 3));
  blocks.spatial = rank - 2;
  SCANLOOM_TRY(blocks.block, ctx.attributes.integer("block_size", 1));
  if (blocks.block < 1 || blocks.block > 1 << 10)
    return invalid_model("attribute 'block_size' is {}, outside [1, 1024]", blocks.block);
  if (rank > 5) return invalid_model("input 0 has {} axes, but at most 5 are allowed", rank);
  for (int i = 0; i < blocks.spatial; ++i) blocks.all *= blocks.block;
  SCANLOOM_TRY(const std::string mode,
               ctx.attributes.choice("mode", "blocks_first", {"blocks_first", "depth_first"}));
  blocks.blocks_first = mode == "blocks_first";
  return blocks;
}

}  // namespace

// Turns [n, b.., c, d..], or [n, c, b.., d..] with depth first, into [n, c, d, b, d, b, ..].
Expected<void> convert_depth_to_space(LayerCtx& ctx) {
  SCANLOOM_TRY(const Blocks from, Blocks::of(ctx));
  SCANLOOM_CHECK_OK(check_divides(ctx, from.x, 1, from.all));
  Composer c(ctx.builder());
  Sizes split(c, from.x), joined(c, from.x);
  split.add(0, 1, 1);
  if (!from.blocks_first) split.add(1, 1, from.all);
  for (int i = 0; i < from.spatial; ++i) split.add(from.block);
  if (from.blocks_first) split.add(1, 1, from.all);
  joined.add(0, 1, 1);
  joined.add(1, 1, from.all);
  const int first_block = from.blocks_first ? 1 : 2;
  Ints perm = {0, from.blocks_first ? 1 + from.spatial : 1};
  for (int i = 0; i < from.spatial; ++i) {
    split.add(2 + i, 1, 1);
    joined.add(2 + i, from.block, 1);
    perm.push_back(2 + from.spatial + i);
    perm.push_back(first_block + i);
  }
  return ctx.emit(c, joined.reshape(c.transpose(split.reshape(from.x), perm)));
}

// Turns [n, c, d, b, d, b, ..] into [n, b.., c, d..], or [n, c, b.., d..] with depth first.
Expected<void> convert_space_to_depth(LayerCtx& ctx) {
  SCANLOOM_TRY(const Blocks from, Blocks::of(ctx));
  Composer c(ctx.builder());
  Sizes split(c, from.x), joined(c, from.x);
  split.add(0, 1, 1);
  split.add(1, 1, 1);
  joined.add(0, 1, 1);
  joined.add(1, from.all, 1);
  Ints perm = {0};
  if (!from.blocks_first) perm.push_back(1);
  for (int i = 0; i < from.spatial; ++i) {
    SCANLOOM_CHECK_OK(check_divides(ctx, from.x, 2 + i, from.block));
    split.add(2 + i, 1, from.block);
    split.add(from.block);
    joined.add(2 + i, 1, from.block);
    perm.push_back(3 + 2 * i);
  }
  if (from.blocks_first) perm.push_back(1);
  for (int i = 0; i < from.spatial; ++i) perm.push_back(2 + 2 * i);
  return ctx.emit(c, joined.reshape(c.transpose(split.reshape(from.x), perm)));
}

// Splits the axis into [groups, rest] and transposes to [rest, groups].
Expected<void> convert_shuffle_channels(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x, 1));
  SCANLOOM_TRY(const int axis, axis_attribute(ctx, "axis", 1, rank));
  SCANLOOM_TRY(const std::int64_t groups, ctx.attributes.integer("group", 1));
  if (groups < 1) return invalid_model("attribute 'group' is {}, but must be at least 1", groups);
  SCANLOOM_CHECK_OK(check_divides(ctx, x, axis, groups));
  Composer c(ctx.builder());
  Sizes split(c, x);
  Ints perm;
  for (int i = 0; i < rank; ++i) {
    if (i == axis) {
      split.add(groups);
      perm.push_back(axis + 1);
      perm.push_back(axis);
    } else {
      perm.push_back(i < axis ? i : i + 1);
    }
    split.add(i, 1, i == axis ? groups : 1);
  }
  return ctx.emit(c, c.reshape(c.transpose(split.reshape(x), perm), c.shape(x)));
}

namespace {

/// Returns the blocks of BatchToSpace and SpaceToBatch: one size per axis, 1 for the batch.
Expected<Ints> block_shape(LayerCtx& ctx, int rank) {
  SCANLOOM_TRY(Ints sizes, ctx.constant_integers(1));
  if (static_cast<int>(sizes.size()) != rank)
    return invalid_model("input 1 has {} sizes, but input 0 has {} axes", sizes.size(), rank);
  if (2 * rank - 1 > tensor::kMaxRank)
    return fail(Code::unsupported, "input 0 has {} axes, more than {}", rank,
                (tensor::kMaxRank + 1) / 2);
  for (const std::int64_t size : sizes)
    if (size < 1 || size > std::int64_t{1} << 20)
      return invalid_model("input 1 has block size {}, outside [1, 2^20]", size);
  if (sizes[0] != 1)
    return invalid_model("input 1 has block size {} for the batch, not 1", sizes[0]);
  return sizes;
}

/// Returns input i: the crops or pads at one end of each axis. The batch axis has none.
Expected<ValueId> ends_of_axes(LayerCtx& ctx, int i, int rank) {
  constexpr std::int64_t kMax = std::int64_t{1} << 40;
  SCANLOOM_TRY(const ValueId list, index_list(ctx, i));
  if (ctx.constant(i) == nullptr) return list;
  SCANLOOM_TRY(const Ints sizes, ctx.constant_integers(i));
  if (static_cast<int>(sizes.size()) != rank)
    return invalid_model("input {} has {} elements, but input 0 has {} axes", i, sizes.size(),
                         rank);
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::int64_t most = axis == 0 ? 0 : kMax;
    if (sizes[axis] < 0 || sizes[axis] > most)
      return invalid_model("input {} has {} for axis {}, outside [0, {}]", i, sizes[axis], axis,
                           most);
  }
  return list;
}

/// Checks that no more is cropped than there is, as far as sizes are known.
Expected<void> check_crops(LayerCtx& ctx, ValueId x, const Ints& blocks) {
  if (ctx.constant(2) == nullptr || ctx.constant(3) == nullptr) return {};
  SCANLOOM_TRY(const Ints begins, ctx.constant_integers(2));
  SCANLOOM_TRY(const Ints ends, ctx.constant_integers(3));
  for (std::size_t axis = 1; axis < blocks.size(); ++axis) {
    const tensor::Dim size = ctx.type(x).dims[axis];
    if (size.is_constant() && begins[axis] + ends[axis] > size.value() * blocks[axis])
      return invalid_model("{} and {} elements are cropped from the {} of axis {}", begins[axis],
                           ends[axis], size.value() * blocks[axis], axis);
  }
  return {};
}

Expected<std::int64_t> product(const Ints& sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) {
    result *= size;
    if (result > std::int64_t{1} << 40) return invalid_model("blocks have more than 2^40 elements");
  }
  return result;
}

}  // namespace

// Turns [b.., n, d..] into [n, d, b, d, b, ..], then crops.
Expected<void> convert_batch_to_space(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x, 2));
  SCANLOOM_TRY(const Ints blocks, block_shape(ctx, rank));
  SCANLOOM_TRY(const std::int64_t all, product(blocks));
  SCANLOOM_CHECK_OK(check_divides(ctx, x, 0, all));
  SCANLOOM_TRY(const ValueId begins, ends_of_axes(ctx, 2, rank));
  SCANLOOM_TRY(const ValueId ends, ends_of_axes(ctx, 3, rank));
  SCANLOOM_CHECK_OK(check_crops(ctx, x, blocks));
  Composer c(ctx.builder());
  Sizes split(c, x), joined(c, x);
  for (int i = 1; i < rank; ++i) split.add(blocks[static_cast<std::size_t>(i)]);
  split.add(0, 1, all);
  joined.add(0, 1, all);
  Ints perm = {rank - 1};
  for (int i = 1; i < rank; ++i) {
    split.add(i, 1, 1);
    joined.add(i, blocks[static_cast<std::size_t>(i)], 1);
    perm.push_back(rank - 1 + i);
    perm.push_back(i - 1);
  }
  const ValueId whole = joined.reshape(c.transpose(split.reshape(x), perm));
  return ctx.emit(c, c.op(ops::slice_op, {whole, begins, c.sub(c.shape(whole), ends)}));
}

// Turns the padded [n, d, b, d, b, ..] into [b.., n, d..].
Expected<void> convert_space_to_batch(LayerCtx& ctx) {
  SCANLOOM_TRY(ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x, 2));
  SCANLOOM_TRY(const Ints blocks, block_shape(ctx, rank));
  SCANLOOM_TRY(const std::int64_t all, product(blocks));
  SCANLOOM_TRY(const ValueId begins, ends_of_axes(ctx, 2, rank));
  SCANLOOM_TRY(const ValueId ends, ends_of_axes(ctx, 3, rank));
  Composer c(ctx.builder());
  x = c.op(ops::pad_op, {x, c.join({begins, ends})}, {{"mode", "constant"}});
  Sizes split(c, x), joined(c, x);
  split.add(0, 1, 1);
  joined.add(0, all, 1);
  Ints perm, after = {0};
  for (int i = 1; i < rank; ++i) {
    const std::int64_t block = blocks[static_cast<std::size_t>(i)];
    SCANLOOM_CHECK_OK(c.done());
    if (ctx.type(x).ranked) SCANLOOM_CHECK_OK(check_divides(ctx, x, i, block));
    split.add(i, 1, block);
    split.add(block);
    joined.add(i, 1, block);
    perm.push_back(2 * i);
    after.push_back(2 * i - 1);
  }
  perm.insert(perm.end(), after.begin(), after.end());
  return ctx.emit(c, joined.reshape(c.transpose(split.reshape(x), perm)));
}

}  // namespace scanloom::openvino
