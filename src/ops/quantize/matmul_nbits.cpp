// Every weight is rounded to f32 before it is multiplied, as dequantize_blocks does, and sums run
// over k in order: the bits are those of the two operators one by one.
#include "base/dot.h"
#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/quantize/block_operands.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/for_each.h"

namespace scanloom::ops {
namespace {
namespace matmul_nbits {

using namespace tensor::block_quantization;
using tensor::Operand;
using tensor::Type;

constexpr int kX = 0, kFirst = 1;  // the first quantized operand

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_TRY(const BlockFormat format, check_blocks(ctx, kFirst));
  if (ctx.dtype(kX) != DType::f32)
    return invalid_model("x has elements of type {}, not f32", dtype_name(ctx.dtype(kX)));
  const Type &x = ctx.in(kX), &bytes = ctx.in(kFirst + kBytes);
  if (bytes.ranked && bytes.rank() != 2)
    return invalid_model("the weights have {} axes, not 2", bytes.rank());
  if (!x.ranked || !bytes.ranked) {
    ctx.set(0, Type::unranked(DType::f32));
    return {};
  }
  if (x.rank() < 1) return invalid_model("x is a single number, but needs an axis");
  SCANLOOM_CHECK_OK(same_size(ctx, x.dims.back(), tensor::Dim(format.size),
                              "the last axis of x, which meets the rows of the weights,"));
  std::vector<tensor::Dim> sizes = x.dims;
  sizes.back() = bytes.dims[0];
  return set_sizes(ctx, 0, DType::f32, std::move(sizes));
}

/// The sum of one element; `x` is where its row begins.
float sum_of(const tensor::Call& call, const BlockFormat& format, std::int64_t x,
             std::int64_t column) {
  const Operand &rows = call.in(kX), &bytes = call.in(kFirst + kBytes),
                &scales = call.in(kFirst + kScales);
  const Operand* const zeros = call.has(kFirst + kZeros) ? &call.in(kFirst + kZeros) : nullptr;
  float sum = 0;
  for (std::int64_t i = 0; i < format.size; ++i) {
    const std::int64_t block = i / format.block;
    const std::uint8_t byte =
        bytes.data<const std::uint8_t>()[column * bytes.strides[0] +
                                         i * format.bits / 8 * bytes.strides[1]];
    const float zero =
        zeros == nullptr ? format.middle()
                         : zero_at(*zeros, column * zeros->strides[0] + block * zeros->strides[1]);
    const float weight =
        (format.number(byte, i) - zero) *
        scales.data<const float>()[column * scales.strides[0] + block * scales.strides[1]];
    sum = multiply_add(rows.data<const float>()[x + i * rows.strides[rows.rank - 1]], weight, sum);
  }
  return sum;
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const BlockFormat format = BlockFormat::of({call.attrs, 3});
  const Operand &x = call.in(kX), &y = call.out(0);
  tensor::for_each_index(y.shape().dims(), [&](const tensor::Shape& index) {
    tensor::Shape row = index;
    row[y.rank - 1] = 0;
    y.data<float>()[tensor::offset_of(index, y.strides)] =
        sum_of(call, format, tensor::offset_of(row, x.strides), index[y.rank - 1]);
  });
  return tensor::Status::ok;
}

double products(const ir::CostCtx& ctx) {
  const tensor::Shape* const x = ctx.inputs[kX];
  return x == nullptr ? 0 : ctx.results() * ctx.size(kX, x->rank() - 1);
}

Expected<int> steps(const ir::StepSite& s) {
  for (std::size_t i = 1; i < s.node.inputs.size(); ++i)
    if (s.has(i) && s.along(i)) return across("an operand other than the first has them");
  if (!s.type(kX).ranked) return across("the number of its axes is not known");
  if (s.axis(kX) == s.type(kX).rank() - 1) return across("it sums over them");
  return s.axis(kX);
}

bool can_lift(ir::Module&, const ir::Node&, const std::vector<bool>& varies) {
  return only_first_varies(varies);
}

Expected<ir::Lifted> lift(ir::Builder& builder, const ir::Node& node,
                          const LiftedOperands& operands) {
  std::vector<ir::ValueId> inputs = values_of(operands);
  SCANLOOM_TRY(const ir::Lifted front, at_front(builder, operands[0]));
  inputs[0] = front.value;
  SCANLOOM_TRY(const ir::ValueId product,
               builder.op(matmul_nbits_op, std::move(inputs), attrs_but(node)));
  return ir::Lifted{product, 0};
}

}  // namespace matmul_nbits
}  // namespace

constinit const ir::OpDef matmul_nbits_op{
    .name = "matmul_nbits",
    .doc =
        "The product of x and the transpose of a matrix of weights that are quantized in blocks, "
        "as dequantize_blocks reads them.",
    .inputs = {{"x", ir::Accept::real},
               {"bytes", ir::Accept::integer},
               {"scales", ir::Accept::real},
               {"zeros", ir::Accept::numeric, ir::Arity::optional}},
    .outputs = {"y"},
    .attrs = {{"bits", tensor::AttrKind::integer},
              {"block", tensor::AttrKind::integer},
              {"size", tensor::AttrKind::integer}},
    .infer = matmul_nbits::infer,
    .reference = matmul_nbits::reference,
    .batching = ir::Batching::product,
    .products = matmul_nbits::products,
    .steps = {.axis = matmul_nbits::steps},
    .lifting = {matmul_nbits::can_lift, matmul_nbits::lift},
};

}  // namespace scanloom::ops
