// StringTensorPack and StringTensorUnpack: strings as bytes with begin and end positions.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;
using ops::Composer;

Expected<void> convert_string_pack(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId begins, indices_operand(ctx, 0));
  SCANLOOM_TRY(const ValueId ends, indices_operand(ctx, 1));
  SCANLOOM_TRY(const ValueId symbols, ctx.in(2));
  return ctx.emit(ops::string_pack_op, {begins, ends, symbols});
}

Expected<void> convert_string_unpack(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ir::NodeId node, ctx.builder().node(ops::string_unpack_op, {x}, {}, 3));
  ValueId results[3];
  for (std::size_t i = 0; i < 3; ++i) results[i] = ctx.module().node(node).outputs[i];
  Composer c(ctx.builder());
  for (int i = 0; i < 2; ++i) {
    const ValueId positions = c.cast(results[i], DType::i32);
    SCANLOOM_CHECK_OK(c.done());
    ctx.set_output(i, positions);
  }
  ctx.set_output(2, results[2]);
  return {};
}

}  // namespace scanloom::openvino
