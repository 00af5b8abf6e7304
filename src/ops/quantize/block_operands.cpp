#include "ops/quantize/block_operands.h"

#include "ops/sizes.h"

namespace scanloom::ops {
namespace {

using namespace tensor::block_quantization;
using tensor::Dim;
using tensor::Type;

// Sizes beyond this are not those of a tensor in memory; products of two of them do not overflow.
constexpr std::int64_t kMaxBlockSize = std::int64_t{1} << 28;

Expected<BlockFormat> format_of(const ir::InferCtx& ctx) {
  const BlockFormat format{ctx.attr(kBits).integer(), ctx.attr(kBlock).integer(),
                           ctx.attr(kSize).integer()};
  if (format.bits != 2 && format.bits != 4 && format.bits != 8)
    return invalid_model("the attribute bits is {}, not 2, 4 or 8", format.bits);
  if (format.block < kMinBlock || format.block > kMaxBlockSize || format.block % kMinBlock != 0)
    return invalid_model("the attribute block is {}, not a multiple of {} up to {}", format.block,
                         kMinBlock, kMaxBlockSize);
  if (format.size < 1 || format.size > kMaxBlockSize)
    return invalid_model("the attribute size is {}, not a size from 1 to {}", format.size,
                         kMaxBlockSize);
  return format;
}

/// Checks that an operand has the axes of the bytes, but `last` elements along the last one.
Expected<void> check_axes(ir::InferCtx& ctx, int i, const Type& bytes, std::int64_t last) {
  const Type& type = ctx.in(i);
  if (!type.ranked) return {};
  if (type.rank() < 1 || (bytes.ranked && type.rank() != bytes.rank()))
    return invalid_model("input {} has {} axes, not {}", i, type.rank(),
                         bytes.ranked ? std::max(bytes.rank(), 1) : 1);
  SCANLOOM_CHECK_OK(
      same_size(ctx, type.dims.back(), Dim(last), fmt::format("the last axis of input {}", i)));
  for (std::size_t axis = 0; bytes.ranked && axis + 1 < type.dims.size(); ++axis)
    SCANLOOM_CHECK_OK(same_size(ctx, type.dims[axis], bytes.dims[axis],
                                fmt::format("axis {} of input {}", axis, i)));
  return {};
}

}  // namespace

Expected<BlockFormat> check_blocks(ir::InferCtx& ctx, int first) {
  SCANLOOM_TRY(const BlockFormat format, format_of(ctx));
  const int bytes = first + kBytes, scales = first + kScales, zeros = first + kZeros;
  const auto check_dtype = [&](int i, bool fits, const char* wanted) -> Expected<void> {
    if (fits) return {};
    return invalid_model("input {} has elements of type {}, not {}", i, dtype_name(ctx.dtype(i)),
                         wanted);
  };
  SCANLOOM_CHECK_OK(check_dtype(bytes, ctx.dtype(bytes) == DType::u8, "u8"));
  SCANLOOM_CHECK_OK(check_dtype(scales, ctx.dtype(scales) == DType::f32, "f32"));
  SCANLOOM_CHECK_OK(check_axes(ctx, bytes, ctx.in(bytes), format.bytes()));
  SCANLOOM_CHECK_OK(check_axes(ctx, scales, ctx.in(bytes), format.blocks()));
  if (!ctx.has(zeros)) return format;
  SCANLOOM_CHECK_OK(check_dtype(
      zeros, ctx.dtype(zeros) == DType::u8 || ctx.dtype(zeros) == DType::f32, "u8 or f32"));
  SCANLOOM_CHECK_OK(check_axes(ctx, zeros, ctx.in(bytes), format.blocks()));
  return format;
}

}  // namespace scanloom::ops
