// Ordinary nodes: views become offsets and strides, everything else one call of the first kernel
// that accepts the operands as they lie.
#include <algorithm>

#include "ops/ops.h"
#include "ops/pointwise.h"
#include "plan/binder.h"
#include "plan/dynamic.h"

namespace scanloom::plan {
namespace {

std::vector<std::optional<DType>> input_dtypes(const std::vector<Location>& inputs) {
  std::vector<std::optional<DType>> dtypes;
  for (const Location& input : inputs)
    dtypes.push_back(input.place.present() ? std::optional(input.place.dtype) : std::nullopt);
  return dtypes;
}

}  // namespace

SlotId Binder::new_slot(SlotInit init) {
  out_->slots.push_back(init);
  return static_cast<SlotId>(out_->slots.size() - 1);
}

std::int32_t Binder::add_layout(const tensor::Shape& dims, const tensor::Shape& strides) {
  out_->layouts.push_back({dims, strides, tensor::is_contiguous(dims.dims(), strides.dims())});
  return static_cast<std::int32_t>(out_->layouts.size() - 1);
}

std::int32_t Binder::contiguous_layout(const tensor::Shape& dims) {
  return add_layout(dims, tensor::contiguous_strides(dims));
}

Location Binder::new_buffer(DType dtype, const tensor::Shape& shape) {
  const std::int64_t bytes = shape.elements() * static_cast<std::int64_t>(dtype_bytes(dtype));
  const BufferId buffer = arena_.add(bytes);
  Location location;
  location.place.slot = kArenaSlot;
  location.place.layout = contiguous_layout(shape);
  location.place.buffer = buffer;
  location.place.dtype = dtype;
  location.buffers = {buffer};
  return location;
}

Location Binder::new_dynamic(DType dtype) {
  Location location;
  location.place.slot = new_slot();
  location.place.dynamic = out_->dynamic_count++;
  location.place.dtype = dtype;
  return location;
}

Location Binder::constant_location(const tensor::Tensor& value) {
  out_->constants.push_back(value);
  Location location;
  location.place.slot =
      new_slot({SlotInit::Kind::constant, 0, static_cast<const std::byte*>(value.data()), 0});
  location.place.layout = contiguous_layout(value.shape());
  location.place.dtype = value.dtype();
  return location;
}

Location Binder::location(ir::ValueId id) {
  Location& found = locations_[id.index];
  if (!found.place.present())
    if (const tensor::Tensor* value = known(id)) found = constant_location(*value);
  return found;
}

Location Binder::output_location(ir::ValueId id) {
  if (wanted_[id.index]) return *wanted_[id.index];
  return new_buffer(type(id).dtype, type(id).shape());
}

/// Asks that `value` be made at `destination`, where its producer can do that: an ordinary node of
/// the region itself whose result nobody wants elsewhere already.
void Binder::want(ir::RegionId region, ir::ValueId value, const Location& destination) {
  const ir::NodeId producer = module_.value(value).producer;
  if (!producer.valid() || wanted_[value.index] || known(value) != nullptr) return;
  const ir::Node& node = module_.node(producer);
  if (node.parent != region || !is_static(value)) return;
  if (!layout(destination.place).contiguous ||
      layout(destination.place).dims != type(value).shape())
    return;
  if (node.op == &ir::loop_op && module_.value(value).index < node.loop->carried) return;
  wanted_[value.index] = destination;
}

void Binder::touch(const Location& location) {
  for (const BufferId buffer : location.buffers) arena_.use(buffer);
}

std::uint32_t Binder::emit(Op op, std::uint32_t index) {
  out_->code.push_back({op, index});
  arena_.tick();
  return static_cast<std::uint32_t>(out_->code.size() - 1);
}

std::uint32_t Binder::add_operands(const std::vector<Location>& inputs,
                                   const std::vector<Location>& outputs) {
  const auto first = static_cast<std::uint32_t>(out_->operands.size());
  for (const std::vector<Location>* list : {&inputs, &outputs})
    for (const Location& location : *list) {
      out_->operands.push_back(location.place);
      touch(location);
    }
  return first;
}

std::vector<tensor::Operand> Binder::operands_of(const std::vector<Location>& places) const {
  // Kernels only ask whether an operand is there; its address is not known before a run.
  static std::byte* const kThere = nullptr;
  std::vector<tensor::Operand> operands;
  for (const Location& location : places) {
    tensor::Operand operand;
    if (location.place.present()) {
      const Layout& shape = layout(location.place);
      operand = {const_cast<std::byte**>(&kThere),
                 location.place.offset,
                 shape.dims.data(),
                 shape.strides.data(),
                 shape.dims.rank(),
                 location.place.dtype,
                 shape.contiguous};
    }
    operands.push_back(operand);
  }
  return operands;
}

bool Binder::try_kernel(ir::NodeId id, const kernels::KernelDef& def,
                        const std::vector<Location>& all_inputs,
                        const std::vector<Location>& outputs) {
  const ir::Node& node = module_.node(id);
  // An element program knows only the operands that are there.
  std::vector<Location> inputs = all_inputs;
  if (node.op->scalar != nullptr)
    std::erase_if(inputs, [](const Location& input) { return !input.place.present(); });
  const std::vector<tensor::Operand> in = operands_of(inputs), out = operands_of(outputs);
  std::vector<const void*> constants;
  for (const Location& input : inputs) {
    const std::byte* data = nullptr;
    if (input.place.present())
      data = out_->slots[static_cast<std::size_t>(input.place.slot)].constant;
    constants.push_back(data == nullptr ? nullptr : data + input.place.offset);
  }
  kernels::PrepareCtx ctx{in, out, constants, node.attrs, nullptr, &plan_->packs};
  tensor::ScalarProgram program;
  if (node.op->scalar != nullptr) {
    program = ops::pointwise_program(*node.op, input_dtypes(all_inputs), node.attrs);
    ctx.program = &program;
  }
  kernels::Prepared prepared = def.prepare(ctx);
  if (prepared.why_not != nullptr) return false;
  out_->scratch_bytes = std::max(out_->scratch_bytes, prepared.scratch_bytes);
  BoundCall call;
  call.run = prepared.run != nullptr ? prepared.run : def.run;
  call.kernel = def.name;
  call.first_operand = add_operands(inputs, outputs);
  call.inputs = static_cast<std::uint16_t>(inputs.size());
  call.outputs = static_cast<std::uint16_t>(outputs.size());
  call.attrs = node.attrs.data();
  call.prepared = std::move(prepared.state);
  call.node = id;
  out_->calls.push_back(std::move(call));
  emit(Op::call, static_cast<std::uint32_t>(out_->calls.size() - 1));
  return true;
}

void Binder::emit_copy(const Location& from, const Location& to, ir::NodeId node) {
  const std::vector<Location> inputs{from}, outputs{to};
  const std::vector<tensor::Operand> in = operands_of(inputs), out = operands_of(outputs);
  const kernels::KernelDef& def = kernels::kernel(kernels::KernelId::copy);
  kernels::Prepared prepared = def.prepare({in, out, {}, {}, nullptr, &plan_->packs});
  BoundCall call;
  call.kernel = def.name;
  call.run = prepared.run != nullptr ? prepared.run : def.run;
  if (prepared.why_not != nullptr) {
    call.run = ops::identity_op.reference;
    call.kernel = "reference";
  }
  out_->scratch_bytes = std::max(out_->scratch_bytes, prepared.scratch_bytes);
  call.first_operand = add_operands(inputs, outputs);
  call.inputs = call.outputs = 1;
  call.prepared = std::move(prepared.state);
  call.node = node;
  out_->calls.push_back(std::move(call));
  emit(Op::call, static_cast<std::uint32_t>(out_->calls.size() - 1));
}

void Binder::emit_alias(const Location& from, const Location& to) {
  touch(from);
  out_->aliases.push_back({from.place, to.place});
  emit(Op::alias, static_cast<std::uint32_t>(out_->aliases.size() - 1));
}

Location Binder::contiguous(const Location& location, ir::NodeId node) {
  if (!location.place.present() || location.place.is_dynamic() || layout(location.place).contiguous)
    return location;
  const Location copy = new_buffer(location.place.dtype, layout(location.place).dims);
  emit_copy(location, copy, node);
  return copy;
}

bool Binder::bind_view(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  Location location = this->location(node.inputs[0]);
  std::vector<std::optional<std::vector<std::int64_t>>> integers(node.inputs.size());
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid())
      integers[i].emplace();
    else if (const tensor::Tensor* value = known(node.inputs[i]))
      integers[i] = to_integers(*value);
  }
  const Layout& from = layout(location.place);
  const std::optional<ir::ViewOf> view =
      node.op->view({from.dims, from.strides, type(node.outputs[0]).shape(), node.attrs, integers});
  if (!view) return false;
  location.place.offset +=
      view->offset * static_cast<std::int64_t>(dtype_bytes(location.place.dtype));
  location.place.layout = add_layout(view->dims, view->strides);
  set_location(node.outputs[0], std::move(location));
  return true;
}

Expected<void> Binder::bind_kernel(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  std::vector<Location> inputs, outputs;
  for (const ir::ValueId input : node.inputs)
    inputs.push_back(input.valid() ? location(input) : Location{});
  for (const ir::ValueId output : node.outputs) {
    outputs.push_back(output_location(output));
    set_location(output, outputs.back());
  }
  for (const kernels::KernelId candidate : candidates(*node.op))
    if (try_kernel(id, kernels::kernel(candidate), inputs, outputs)) return {};
  std::vector<Location> straight;
  bool copied = false;
  for (const Location& input : inputs) {
    const bool strided = input.place.present() && !layout(input.place).contiguous;
    straight.push_back(strided && !candidates(*node.op).empty() ? contiguous(input, id) : input);
    copied |= straight.back().place.buffer != input.place.buffer;
  }
  if (copied)
    for (const kernels::KernelId candidate : candidates(*node.op))
      if (try_kernel(id, kernels::kernel(candidate), straight, outputs)) return {};
  if (node.op->reference == nullptr)
    return fail(Code::unsupported, "{}: operator '{}' has no kernel", module_.describe(id),
                node.op->name);
  BoundCall call;
  call.run = node.op->reference;
  call.kernel = "reference";
  call.first_operand = add_operands(straight, outputs);
  call.inputs = static_cast<std::uint16_t>(straight.size());
  call.outputs = static_cast<std::uint16_t>(outputs.size());
  call.attrs = node.attrs.data();
  call.node = id;
  out_->calls.push_back(std::move(call));
  emit(Op::call, static_cast<std::uint32_t>(out_->calls.size() - 1));
  return {};
}

Expected<void> Binder::bind_dynamic(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  if (node.op->reference == nullptr)
    return fail(Code::unsupported, "{}: operator '{}' has no kernel", module_.describe(id),
                node.op->name);
  std::vector<Location> inputs, outputs;
  for (const ir::ValueId input : node.inputs)
    inputs.push_back(input.valid() ? location(input) : Location{});
  for (const ir::ValueId output : node.outputs) {
    outputs.push_back(is_static(output) ? output_location(output)
                                        : new_dynamic(type(output).dtype));
    set_location(output, outputs.back());
  }
  DynamicCall dynamic;
  dynamic.resolve = resolve_shapes;
  dynamic.call.run = node.op->reference;
  dynamic.call.kernel = "reference";
  dynamic.call.first_operand = add_operands(inputs, outputs);
  dynamic.call.inputs = static_cast<std::uint16_t>(inputs.size());
  dynamic.call.outputs = static_cast<std::uint16_t>(outputs.size());
  dynamic.call.attrs = node.attrs.data();
  dynamic.call.node = id;
  out_->dynamic_calls.push_back(std::move(dynamic));
  emit(Op::dynamic_call, static_cast<std::uint32_t>(out_->dynamic_calls.size() - 1));
  return {};
}

}  // namespace scanloom::plan
