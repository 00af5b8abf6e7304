#include "ops/ops.h"
#include "ops/quantize/block_operands.h"
#include "ops/sizes.h"
#include "tensor/for_each.h"

namespace scanloom::ops {
namespace {
namespace dequantize_blocks {

using namespace tensor::block_quantization;
using tensor::Operand;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_TRY(const BlockFormat format, check_blocks(ctx, 0));
  const tensor::Type& bytes = ctx.in(kBytes);
  if (!bytes.ranked) {
    ctx.set(0, tensor::Type::unranked(DType::f32));
    return {};
  }
  std::vector<tensor::Dim> sizes = bytes.dims;
  sizes.back() = tensor::Dim(format.size);
  return set_sizes(ctx, 0, DType::f32, std::move(sizes));
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const BlockFormat format = BlockFormat::of({call.attrs, 3});
  const Operand &bytes = call.in(kBytes), &scales = call.in(kScales), &y = call.out(0);
  const int last = y.rank - 1;
  tensor::for_each_index(y.shape().dims(), [&](const tensor::Shape& index) {
    const std::int64_t i = index[last];
    tensor::Shape at = index;
    at[last] = i * format.bits / 8;
    const std::uint8_t byte =
        bytes.data<const std::uint8_t>()[tensor::offset_of(at, bytes.strides)];
    at[last] = i / format.block;
    const float scale = scales.data<const float>()[tensor::offset_of(at, scales.strides)];
    const float zero =
        call.has(kZeros) ? zero_at(call.in(kZeros), tensor::offset_of(at, call.in(kZeros).strides))
                         : format.middle();
    y.data<float>()[tensor::offset_of(index, y.strides)] = (format.number(byte, i) - zero) * scale;
  });
  return tensor::Status::ok;
}

}  // namespace dequantize_blocks
}  // namespace

constinit const ir::OpDef dequantize_blocks_op{
    .name = "dequantize_blocks",
    .doc =
        "(number - zero) * scale, for numbers of 2, 4 or 8 `bits` along the last axis, of which "
        "there are `size`. A byte holds several, the lowest bits first. Every `block` of them has "
        "a scale and a zero point; without zero points they are half of the range.",
    .inputs = {{"bytes", ir::Accept::integer},
               {"scales", ir::Accept::real},
               {"zeros", ir::Accept::numeric, ir::Arity::optional}},
    .outputs = {"y"},
    .attrs = {{"bits", tensor::AttrKind::integer},
              {"block", tensor::AttrKind::integer},
              {"size", tensor::AttrKind::integer}},
    .infer = dequantize_blocks::infer,
    .reference = dequantize_blocks::reference,
    .linear_work = true,
};

}  // namespace scanloom::ops
