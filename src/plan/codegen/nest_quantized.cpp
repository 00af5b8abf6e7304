// Turns quantize_linear and dequantize_linear into nests: element programs that read a scale and a
// zero point, per tensor or per index of an axis.
#include "ir/scalar_ctx.h"
#include "ops/indices.h"
#include "ops/ops.h"
#include "ops/quantize/quantization.h"
#include "plan/codegen/nest_source.h"

namespace scanloom::plan {
namespace {

using ir::Reg;
using loopnest::Access;
using loopnest::Nest;

// The operands of the call, which are also their registers.
constexpr Reg kElements = 0, kScale = 1, kZero = 2;

/// Returns an access to a scale or zero point, which has one element or one per index of `axis`.
Access parameter(const CallView& call, Reg index, int axis) {
  const Spot& spot = call.spot(static_cast<std::size_t>(index));
  const Layout &own = call.layout(spot), &to = call.layout(call.output());
  const bool along = own.dims.rank() == 1 && own.dims[0] != 1;
  Access operand = first_element(spot);
  for (int i = 0; i < to.dims.rank(); ++i)
    if (to.dims[i] != 1) operand.strides.push_back(along && i == axis ? own.strides[0] : 0);
  return operand;
}

}  // namespace

std::optional<Nest> quantization_nest(const CallView& call) {
  const Layout &from = call.layout(call.spot(kElements)), &to = call.layout(call.output());
  const DType x = call.spot(kElements).dtype, y = call.output().dtype;
  if (!is_floating_point(x) && !is_integer(x)) return std::nullopt;
  const int axis = ops::checked_axis(call.node().attrs[0], to.dims.rank());
  Nest nest;
  Access read = first_element(call.spot(kElements)), write = first_element(call.output());
  for (int i = 0; i < to.dims.rank(); ++i) {
    if (to.dims[i] == 1) continue;
    nest.sizes.push_back(to.dims[i]);
    read.strides.push_back(from.strides[i]);
    write.strides.push_back(to.strides[i]);
  }
  nest.reads = {std::move(read)};
  const bool has_zero =
      call.inputs() > static_cast<std::size_t>(kZero) && call.spot(kZero).present();
  const Reg operands = has_zero ? kZero + 1 : kZero;
  for (Reg i = kScale; i < operands; ++i) nest.reads.push_back(parameter(call, i, axis));
  for (const Access& operand : nest.reads) nest.program.inputs.push_back(operand.dtype);
  ir::ScalarCtx ctx(nest.program, {}, {});
  const Reg zero = has_zero ? kZero : -1;
  nest.program.results = {call.node().op == &ops::quantize_linear_op
                              ? ops::quantized_element(ctx, kElements, kScale, zero, y)
                              : ops::dequantized_element(ctx, kElements, kScale, zero, y)};
  nest.writes = {std::move(write)};
  return nest;
}

}  // namespace scanloom::plan
