// Weights of com.microsoft that are quantized in blocks and packed into bytes: MatMulNBits,
// MatMulBnb4 and GatherBlockQuantized. The products are those of f32 (a smaller accuracy_level only
// allows less exact ones). Weights whose blocks follow each other stay as they are
// (dequantize_blocks); others are unpacked once, when the model is loaded, if they are constant.
// Source: ONNX Runtime's docs/ContribOperators.md, and bitsandbytes' tables of 4-bit numbers.
#include <array>

#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Expands each byte along the last axis into 8 / bits numbers, the lowest bits first (or last).
ValueId unpacked(Composer& c, ValueId bytes, std::int64_t bits, bool lowest_first = true) {
  if (bits == 8) return bytes;
  std::vector<ValueId> parts;
  const ValueId mask = c.like(static_cast<double>((1 << bits) - 1), bytes);
  for (std::int64_t shift = 0; shift < 8; shift += bits) {
    const std::int64_t by = lowest_first ? shift : 8 - bits - shift;
    const ValueId moved =
        c.op(ops::shift_right_op, {bytes, c.like(static_cast<double>(by), bytes)});
    parts.push_back(c.unsqueeze(c.op(ops::bit_and_op, {moved, mask}), {-1}));
  }
  const ValueId stacked = c.concat(std::move(parts), -1);
  if (!c.ok()) return {};
  const int rank = c.ctx().type(bytes).rank();
  return c.reshape(stacked, c.join({c.shape(bytes, 0, rank - 1),
                                    c.mul(c.dim(bytes, rank - 1), c.number(8 / bits))}));
}

/// Error: attribute `name` is not in `allowed`.
void check_one_of(Composer& c, const char* name, std::int64_t value,
                  std::initializer_list<std::int64_t> allowed) {
  for (const std::int64_t one : allowed)
    if (value == one) return;
  c.refuse(fail(Code::unsupported, "attribute '{}' is {}, which is not supported", name, value));
}

void check_block_size(Composer& c, std::int64_t size) {
  if (size < 16 || (size & (size - 1)) != 0)
    c.refuse(
        invalid_model("attribute 'block_size' is {}, but must be a power of 2 from 16 on", size));
}

/// Error: input i is known to have another number of elements.
void check_elements(Composer& c, int i, std::int64_t wanted) {
  const ValueId x = c.in(i);
  if (!c.ok() || !c.ctx().type(x).is_static()) return;
  if (const std::int64_t has = c.ctx().type(x).shape().elements(); has != wanted)
    c.refuse(invalid_model("{} has {} elements, but {} are needed", c.ctx().describe_input(i), has,
                           wanted));
}

struct BlockSizes {
  std::int64_t bits = 4, n = 0, k = 0, block = 0;
  [[nodiscard]] std::int64_t blocks() const { return (k + block - 1) / block; }
};

// Sizes beyond this are not those of a matrix in memory; products of two of them do not overflow.
constexpr std::int64_t kMaxMatrixSide = std::int64_t{1} << 28;

BlockSizes block_sizes(Composer& c) {
  BlockSizes sizes;
  sizes.bits = c.integer("bits", 4);
  sizes.n = c.take(c.ctx().required_integer("N"));
  sizes.k = c.take(c.ctx().required_integer("K"));
  sizes.block = c.take(c.ctx().required_integer("block_size"));
  for (const auto& [name, size] : {std::pair("N", sizes.n), std::pair("K", sizes.k)})
    if (c.ok() && (size < 1 || size > kMaxMatrixSide))
      c.refuse(
          invalid_model("attribute '{}' is {}, which is not the size of a matrix", name, size));
  if (c.ok()) check_block_size(c, sizes.block);
  if (c.ok() && sizes.block > kMaxMatrixSide)
    c.refuse(invalid_model("attribute 'block_size' is {}, which is too large", sizes.block));
  return sizes;
}

/// Returns the zero points [n, blocks] in f32: packed like the weights, in the type of the scales,
/// or by default half of the range.
ValueId zeros_of_blocks(Composer& c, const BlockSizes& sizes) {
  if (!c.ctx().has(3)) return c.scalar(static_cast<double>(1 << (sizes.bits - 1)), DType::f32);
  const ValueId given = c.in(3);
  if (c.dtype(given) != DType::u8) {
    check_elements(c, 3, sizes.n * sizes.blocks());
    return c.reshape(c.cast(given, DType::f32), c.list({sizes.n, sizes.blocks()}));
  }
  const std::int64_t bytes = (sizes.blocks() * sizes.bits + 7) / 8;
  check_elements(c, 3, sizes.n * bytes);
  const ValueId all = unpacked(c, c.reshape(given, c.list({sizes.n, bytes})), sizes.bits);
  return c.cast(c.slice(all, 1, 0, sizes.blocks()), DType::f32);
}

/// Returns the zero points as dequantize_blocks takes them: bytes, or f32; invalid for the default.
ValueId zeros_in_bytes(Composer& c, const BlockSizes& sizes) {
  if (!c.ctx().has(3)) return {};
  const ValueId given = c.in(3);
  if (c.dtype(given) != DType::u8) return zeros_of_blocks(c, sizes);
  const std::int64_t bytes = (sizes.blocks() * sizes.bits + 7) / 8;
  check_elements(c, 3, sizes.n * bytes);
  const ValueId all = unpacked(c, c.reshape(given, c.list({sizes.n, bytes})), sizes.bits);
  return c.slice(all, 1, 0, sizes.blocks());
}

/// Returns the weights [n, k] in f32.
ValueId weights_of_blocks(Composer& c, const BlockSizes& sizes) {
  const std::int64_t blocks = sizes.blocks(), padded = blocks * sizes.block;
  check_elements(c, 1, sizes.n * padded * sizes.bits / 8);
  check_elements(c, 2, sizes.n * blocks);
  if (!c.ok()) return {};
  if (!c.ctx().has(4))
    return c.op(ops::dequantize_blocks_op,
                {c.reshape(c.in(1), c.list({sizes.n, padded * sizes.bits / 8})),
                 c.reshape(c.cast(c.in(2), DType::f32), c.list({sizes.n, blocks})),
                 zeros_in_bytes(c, sizes)},
                {{"bits", sizes.bits}, {"block", sizes.block}, {"size", sizes.k}});
  const ValueId bytes = c.reshape(c.in(1), c.list({sizes.n, padded * sizes.bits / 8}));
  const ValueId q = c.cast(c.slice(unpacked(c, bytes, sizes.bits), 1, 0, sizes.k), DType::f32);
  ValueId scale = c.reshape(c.cast(c.in(2), DType::f32), c.list({sizes.n, blocks}));
  ValueId zero = zeros_of_blocks(c, sizes);
  const ValueId block = c.slice(c.in(4), 0, 0, sizes.k);  // of each column
  scale = c.gather(scale, block, 1);
  if (c.ok() && c.ctx().type(zero).rank() == 2) zero = c.gather(zero, block, 1);
  return c.mul(c.sub(q, zero), scale);
}

/// x . weights^T + the bias, in f32.
ValueId product_with_rows(Composer& c, ValueId weights, int bias) {
  const ValueId y = c.contract(c.cast(c.in(0), DType::f32), c.transpose(weights, {1, 0}), "");
  const ValueId addend = c.optional_in(bias);
  return addend.valid() ? c.add(y, c.cast(addend, DType::f32)) : y;
}

}  // namespace

Expected<void> convert_matmul_nbits(NodeCtx& ctx) {
  Composer c(ctx);
  ctx.ignore("accuracy_level");
  if (const std::int64_t packed = c.integer("weight_prepacked", 0); packed != 0)
    return fail(Code::unsupported, "attribute 'weight_prepacked' is {}: a layout of GPUs", packed);
  const BlockSizes sizes = block_sizes(c);
  if (c.ok()) check_one_of(c, "bits", sizes.bits, {2, 4, 8});
  if (c.ok() && c.dtype(c.in(1)) != DType::u8)
    return invalid_model("{} has elements of type {}, not uint8", ctx.describe_input(1),
                         dtype_onnx_name(c.dtype(c.in(1))));
  SCANLOOM_CHECK_OK(c.done());
  const ValueId y = product_with_rows(c, weights_of_blocks(c, sizes), 5);
  return c.emit(c.cast(y, c.dtype(c.in(0))));
}

namespace {

constexpr std::array kFp4 = {
    0.0F,  5.208333333e-03F,  0.66666667F,  1.0F,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
    -0.0F, -5.208333333e-03F, -0.66666667F, -1.0F, -0.33333333F, -0.5F, -0.16666667F, -0.25F};
constexpr std::array kNf4 = {-1.0F,
                             -0.6961928009986877F,
                             -0.5250730514526367F,
                             -0.39491748809814453F,
                             -0.28444138169288635F,
                             -0.18477343022823334F,
                             -0.09105003625154495F,
                             0.0F,
                             0.07958029955625534F,
                             0.16093020141124725F,
                             0.24611230194568634F,
                             0.33791524171829224F,
                             0.44070982933044434F,
                             0.5626170039176941F,
                             0.7229568362236023F,
                             1.0F};

}  // namespace

// Two numbers per byte, the first in the upper half, as indices of a table; the blocks run through
// the rows of the matrix.
Expected<void> convert_matmul_bnb4(NodeCtx& ctx) {
  Composer c(ctx);
  ctx.ignore("training_mode");
  const BlockSizes sizes = block_sizes(c);
  const std::int64_t type = c.take(ctx.required_integer("quant_type"));
  if (c.ok()) check_one_of(c, "quant_type", type, {0, 1});
  SCANLOOM_CHECK_OK(c.done());
  const std::int64_t count = sizes.n * sizes.k, blocks = (count + sizes.block - 1) / sizes.block;
  check_elements(c, 1, (count + 1) / 2);
  check_elements(c, 2, blocks);
  const ValueId bytes = c.reshape(c.in(1), c.list({(count + 1) / 2}));
  const ValueId index = c.slice(unpacked(c, bytes, 4, false), 0, 0, count);
  const ValueId table = c.builder().constant(
      tensor::Tensor::of<float>({16}, type == 0 ? std::span(kFp4) : std::span(kNf4)));
  const ValueId block = c.div(c.count_up(c.number(count)), c.number(sizes.block));
  const ValueId scale =
      c.gather(c.cast(c.reshape(c.in(2), c.list({blocks})), DType::f32), block, 0);
  const ValueId flat = c.mul(c.gather(table, c.cast(index, DType::i32), 0), scale);
  const ValueId weights = c.reshape(flat, c.list({sizes.n, sizes.k}));
  const bool transposed = c.integer("transB", 1) != 0;
  const ValueId x = c.cast(c.in(0), DType::f32);
  const ValueId y = c.contract(x, transposed ? c.transpose(weights, {1, 0}) : weights, "");
  return c.emit(c.cast(y, c.dtype(c.in(0))));
}

namespace {

struct BlockGather {
  int gather = 0, quantized = 1;
  std::int64_t bits = 8, block = 128;
};

/// Returns the data, or the zero points, with one number per element in i32.
ValueId numbers_of(Composer& c, ValueId x, const BlockGather& g) {
  return c.cast(c.dtype(x) == DType::u8 ? unpacked(c, x, g.bits) : x, DType::i32);
}

BlockGather block_gather(Composer& c) {
  BlockGather g;
  const ValueId data = c.in(0);
  const int rank = c.rank(0, data, 1);
  g.gather = c.axis("gather_axis", 0, rank);
  g.quantized = c.axis("quantize_axis", 1, rank);
  g.block = c.integer("block_size", 128);
  const std::int64_t bits = c.integer("bits", 4);
  if (c.ok()) check_block_size(c, g.block);
  const DType dtype = c.dtype(data);
  if (c.ok() && dtype != DType::u8 && dtype != DType::u4 && dtype != DType::i4)
    c.refuse(fail(Code::unsupported, "{} has elements of type {}, not uint8, uint4 or int4",
                  c.ctx().describe_input(0), dtype_onnx_name(dtype)));
  if (dtype == DType::u8) {
    g.bits = bits;
    if (c.ok()) check_one_of(c, "bits", bits, {2, 4, 8});
    if (c.ok() && (g.gather != 0 || g.quantized != rank - 1 || rank < 2))
      c.refuse(fail(Code::unsupported,
                    "bytes are gathered along axis 0 and quantized along the last of several"));
  }
  return g;
}

}  // namespace

namespace {

/// (number - zero) * scale in f32. Blocks lie along `axis`; an invalid zero is 0.
ValueId dequantized(Composer& c, ValueId numbers, ValueId scales, ValueId zeros,
                    const BlockGather& g, int axis) {
  const ValueId block = c.div(c.count_up(c.dim(numbers, axis)), c.number(g.block));
  if (zeros.valid()) numbers = c.sub(numbers, c.gather(zeros, block, axis));
  return c.mul(c.cast(numbers, DType::f32), c.cast(c.gather(scales, block, axis), DType::f32));
}

/// The same for bytes that hold several numbers each. An invalid zero is half of the range.
ValueId dequantized_bytes(Composer& c, ValueId bytes, ValueId scales, ValueId zeros,
                          const BlockGather& g) {
  if (!c.ok()) return {};
  const int last = c.ctx().type(bytes).rank() - 1;
  const std::int64_t size = c.known_size(bytes, last) * 8 / g.bits;
  const std::int64_t blocks = c.known_size(scales, last);
  const bool has_whole_blocks = size > 0 && size == blocks * g.block;
  if (zeros.valid()) zeros = unpacked(c, zeros, g.bits);
  if (has_whole_blocks) {
    if (zeros.valid()) zeros = c.slice(zeros, last, 0, blocks);
    return c.op(ops::dequantize_blocks_op, {bytes, c.cast(scales, DType::f32), zeros},
                {{"bits", g.bits}, {"block", g.block}, {"size", size}});
  }
  const ValueId numbers = numbers_of(c, bytes, g);
  if (zeros.valid()) return dequantized(c, numbers, scales, c.cast(zeros, DType::i32), g, last);
  const ValueId middle = c.scalar(static_cast<double>(1 << (g.bits - 1)), DType::i32);
  return dequantized(c, c.sub(numbers, middle), scales, {}, g, last);
}

/// Elements of the table, in f32.
ValueId gathered(Composer& c, ValueId index, const BlockGather& g) {
  const bool has_zeros = c.ctx().has(3);
  const ValueId data = c.in(0), scales = c.in(2), zeros = has_zeros ? c.in(3) : ValueId{};
  const auto numbers = [&](ValueId x) { return x.valid() ? c.cast(x, DType::i32) : x; };
  if (g.gather == g.quantized) {
    const ValueId all = dequantized(c, numbers(data), scales, numbers(zeros), g, g.quantized);
    return c.gather(all, index, g.gather);
  }
  const auto pick = [&](ValueId x) { return x.valid() ? c.gather(x, index, g.gather) : x; };
  if (c.dtype(data) == DType::u8)
    return dequantized_bytes(c, pick(data), pick(scales), pick(zeros), g);
  const int before = g.quantized > g.gather ? c.rank(1, index, 0) - 1 : 0;
  return dequantized(c, numbers(pick(data)), pick(scales), numbers(pick(zeros)), g,
                     g.quantized + before);
}

}  // namespace

// Elements are gathered, then dequantized; only along the axis of the blocks is it the other way
// round. An index outside the table gives zeros.
Expected<void> convert_gather_block_quantized(NodeCtx& ctx) {
  Composer c(ctx);
  const BlockGather g = block_gather(c);
  const ValueId data = c.in(0), given = c.cast(c.in(1), DType::i64), scales = c.in(2);
  SCANLOOM_CHECK_OK(c.done());
  const int rank = c.rank(0, data, 1);
  if (c.ok() && ctx.type(scales).rank() != rank)
    return invalid_model("{} has {} axes, but the data {}", ctx.describe_input(2),
                         ctx.type(scales).rank(), rank);
  const ValueId rows = c.dim(data, g.gather), none = c.number(0);
  const ValueId index = c.where(c.less(given, none), c.add(given, rows), given);
  const ValueId safe = c.max(c.min(index, c.sub(rows, c.number(1))), none);
  ValueId inside = c.equal(index, safe);
  // Aligned with the axes of the indices in the result.
  const int index_rank = c.rank(1, given, 0);
  if (auto after = axes_between(index_rank, index_rank + rank - 1 - g.gather); !after.empty())
    inside = c.unsqueeze(inside, std::move(after));
  const ValueId y = c.cast(gathered(c, safe, g), c.dtype(scales));
  return c.emit(c.where(inside, y, c.like(0, y)));
}

}  // namespace scanloom::onnx
