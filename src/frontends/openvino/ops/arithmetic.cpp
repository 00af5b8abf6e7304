// Binary operations element by element, with their auto_broadcast modes.
#include "frontends/openvino/ops/broadcast.h"
#include "frontends/openvino/ops/converters.h"

namespace scanloom::openvino {

Expected<void> convert_arithmetic(LayerCtx& ctx) {
  SCANLOOM_TRY(const Operands x, broadcast_operands(ctx));
  const ir::OpDef& op = ctx.layer().type == "Add" ? ops::add_op : ops::mul_op;
  return ctx.emit(op, {x.a, x.b});
}

}  // namespace scanloom::openvino
