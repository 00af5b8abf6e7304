#include "plan/bind/copies.h"

#include <algorithm>

#include "ops/ops.h"
#include "plan/bind/dynamic.h"

namespace scanloom::plan {

void emit_copy(BindingBuilder& builder, const Location& from, const Location& to, ir::NodeId node) {
  BoundCall call;
  call.kernel = kernels::KernelId::copy;
  call.is_copy = true;
  call.node = node;
  if (from.spot.is_dynamic()) {
    call.run = ops::identity_op.reference;
    builder.emit_dynamic_call({.call = std::move(call), .resolve = sizes_of_input}, {from}, {to});
    return;
  }
  const std::vector<tensor::Operand> in = operands_of(builder.binding(), {&from.spot, 1}),
                                     out = operands_of(builder.binding(), {&to.spot, 1});
  const kernels::KernelDef& def = kernels::kernel(kernels::KernelId::copy);
  kernels::Prepared prepared = def.prepare({in, out, {}, {}, nullptr, nullptr});
  call.run = prepared.run != nullptr ? prepared.run : def.run;
  if (prepared.refusal) {
    call.run = ops::identity_op.reference;
    call.kernel = CallKernel::reference();
  }
  std::int64_t& scratch = builder.binding().scratch_bytes;
  scratch = std::max(scratch, prepared.scratch_bytes);
  call.prepared = std::move(prepared.state);
  builder.emit_call(std::move(call), {from}, {to});
}

void emit_alias(BindingBuilder& builder, const Location& from, const Location& to, bool moved) {
  InstructionScope instruction(builder, Op::alias, builder.binding().aliases.size());
  instruction.read(from);
  builder.binding().aliases.push_back({from.spot, to.spot, moved});
}

Location straight(BindingBuilder& builder, const Location& location, const tensor::Shape& dims,
                  ir::NodeId node) {
  if (!location.spot.present() ||
      (!location.spot.is_dynamic() && builder.layout(location.spot).contiguous))
    return location;
  const Location copy = builder.new_buffer(location.spot.dtype, dims);
  emit_copy(builder, location, copy, node);
  return copy;
}

}  // namespace scanloom::plan
