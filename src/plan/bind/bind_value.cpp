// Where values lie while binding: slots, layouts, buffers of the arena, and the copies between
// them.
#include <algorithm>

#include "ops/ops.h"
#include "ops/shape/reshape_view.h"
#include "plan/bind/binder.h"
#include "plan/bind/dynamic.h"

namespace scanloom::plan {

void Location::add_buffers(const std::vector<BufferId>& more) {
  std::vector<BufferId> all;
  std::ranges::set_union(buffers, more, std::back_inserter(all));
  buffers = std::move(all);
}

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
  location.spot.slot = new_slot({.kind = SlotInit::Kind::arena, .index = buffer});
  location.spot.layout = contiguous_layout(shape);
  location.spot.buffer = buffer;
  location.spot.dtype = dtype;
  location.buffers = {buffer};
  return location;
}

Location Binder::new_dynamic(DType dtype) {
  Location location;
  location.spot.slot = new_slot();
  location.spot.dynamic = out_->dynamic_count++;
  location.spot.dtype = dtype;
  return location;
}

Location Binder::new_object(DType dtype, ObjectInit init) {
  Location location;
  location.spot.object = static_cast<ObjectId>(out_->objects.size());
  location.spot.dtype = dtype;
  out_->objects.push_back(std::move(init));
  return location;
}

Location Binder::constant_location(const tensor::Tensor& value, bool of_plan) {
  if (value.dtype() == DType::string)
    return new_object(value.dtype(),
                      {.kind = ObjectInit::Kind::constant, .constant = value, .feed = 0});
  out_->constants.push_back(value);
  Location location;
  location.spot.slot = new_slot({.kind = SlotInit::Kind::constant,
                                 .constant = static_cast<const std::byte*>(value.data()),
                                 .of_plan = of_plan});
  location.spot.layout = contiguous_layout(value.shape());
  location.spot.dtype = value.dtype();
  return location;
}

Location Binder::location(ir::ValueId id) {
  Location& found = locations_[id.index];
  if (!found.spot.present())
    if (const tensor::Tensor* value = inference_.constant(id)) {
      const ir::NodeId producer = module_.value(id).producer;
      const bool of_plan = producer.valid() && module_.node(producer).op == &ir::constant_op;
      found = constant_location(*value, of_plan);
    }
  return found;
}

Location Binder::output_location(ir::ValueId id) {
  account_for(id);
  if (updates_in_place_[id.index])
    return location(module_.node(module_.value(id).producer).inputs[0]);
  if (wanted_[id.index]) return *wanted_[id.index];
  return new_buffer(type(id).dtype, type(id).shape());
}

std::optional<Location> Binder::unread_rows(const ir::Node& node, std::size_t output) {
  const ir::ValueId id = node.outputs[output];
  if (output != 0 || node.op->rows_axis == nullptr || uses_[id.index] != 0) return std::nullopt;
  const tensor::Shape dims = type(id).shape();
  const int axis = node.op->rows_axis(node.attrs);
  if (dims[axis] == 0) return std::nullopt;
  tensor::Shape row = dims;
  row[axis] = 1;
  tensor::Shape strides = tensor::contiguous_strides(row);
  strides[axis] = 0;
  Location location = new_buffer(type(id).dtype, row);
  location.spot.layout = add_layout(dims, strides);
  return location;
}

std::int64_t Binder::account_for(ir::ValueId id) {
  const std::int64_t bytes =
      type(id).shape().elements() * static_cast<std::int64_t>(dtype_bytes(type(id).dtype));
  const ir::NodeId producer = module_.value(id).producer;
  if (bytes > out_->largest_bytes && producer.valid()) {
    out_->largest = producer;
    out_->largest_bytes = bytes;
  }
  return bytes;
}

/// Asks that `value` be made at `destination`, where its producer can do that: an ordinary node of
/// the region itself whose result nobody wants elsewhere already.
void Binder::want(ir::RegionId region, ir::ValueId value, const Location& destination) {
  const ir::NodeId producer = module_.value(value).producer;
  if (!producer.valid() || wanted_[value.index] || inference_.is_constant(value)) return;
  const ir::Node& node = module_.node(producer);
  if (node.parent != region || !is_static(value) || is_object(value)) return;
  if (!layout(destination.spot).contiguous || layout(destination.spot).dims != type(value).shape())
    return;
  if (node.op == &ir::loop_op && module_.value(value).index < node.loop->carried) return;
  wanted_[value.index] = destination;
}

/// As `want`, and what the value is a view of under other sizes, so that the view lies there, too.
void Binder::want_source(ir::RegionId region, ir::ValueId value, Location destination) {
  for (;;) {
    want(region, value, destination);
    const ir::NodeId producer = module_.value(value).producer;
    if (!producer.valid() || module_.node(producer).parent != region) return;
    if (module_.node(producer).op->view != ops::reshape_view) return;
    value = module_.node(producer).inputs[0];
    if (!is_static(value) || is_object(value)) return;
    destination.spot.layout = contiguous_layout(type(value).shape());
  }
}

void Binder::touch(const Location& location) {
  if (location.spot.buffer == kNone && !location.buffers.empty())
    buffers_behind_[location.spot.slot].insert(location.buffers.begin(), location.buffers.end());
  for (const BufferId buffer : location.buffers) {
    arena_.use(buffer);
    if (touched_in_blocks_) touched_in_blocks_->push_back(buffer);
  }
}

std::uint32_t Binder::emit(Op op, std::uint32_t index) {
  out_->code.push_back({op, index});
  moments_.resize(out_->code.size());
  moments_.back() = arena_.now();
  arena_.tick();
  return static_cast<std::uint32_t>(out_->code.size() - 1);
}

std::uint32_t Binder::add_operands(const std::vector<Location>& inputs,
                                   const std::vector<Location>& outputs) {
  const auto first = static_cast<std::uint32_t>(out_->operands.size());
  for (const std::vector<Location>* list : {&inputs, &outputs})
    for (const Location& location : *list) {
      out_->operands.push_back(location.spot);
      touch(location);
    }
  return first;
}

std::vector<Spot> spots_of(const std::vector<Location>& locations) {
  std::vector<Spot> spots;
  for (const Location& location : locations) spots.push_back(location.spot);
  return spots;
}

std::vector<tensor::Operand> Binder::operands_of(std::span<const Spot> spots) const {
  // Kernels only ask whether an operand is there; its address is not known before a run.
  static std::byte* const kThere = nullptr;
  std::vector<tensor::Operand> operands;
  for (const Spot& spot : spots) {
    tensor::Operand operand;
    if (spot.present()) {
      const Layout& shape = layout(spot);
      operand = {const_cast<std::byte**>(&kThere),
                 spot.offset,
                 shape.dims.data(),
                 shape.strides.data(),
                 shape.dims.rank(),
                 spot.dtype,
                 shape.contiguous};
    }
    operands.push_back(operand);
  }
  return operands;
}

std::vector<const void*> Binder::constants_of(std::span<const Spot> spots, bool& of_plan) const {
  std::vector<const void*> constants;
  of_plan = true;
  for (const Spot& spot : spots) {
    const SlotInit* init =
        spot.present() ? &out_->slots[static_cast<std::size_t>(spot.slot)] : nullptr;
    const bool constant = init != nullptr && init->constant != nullptr;
    constants.push_back(constant ? init->constant + spot.offset : nullptr);
    of_plan &= !constant || init->of_plan;
  }
  return constants;
}

/// Boxed sources are looked at when the copy runs.
void Binder::emit_copy(const Location& from, const Location& to, ir::NodeId node) {
  BoundCall call;
  call.kernel = "copy";
  call.is_copy = true;
  call.node = node;
  call.inputs = call.outputs = 1;
  if (from.spot.is_dynamic()) {
    call.run = ops::identity_op.reference;
    call.first_operand = add_operands({from}, {to});
    out_->dynamic_calls.push_back({.call = std::move(call), .resolve = sizes_of_input});
    emit(Op::dynamic_call, static_cast<std::uint32_t>(out_->dynamic_calls.size() - 1));
    return;
  }
  const std::vector<Location> inputs{from}, outputs{to};
  const std::vector<tensor::Operand> in = operands_of(spots_of(inputs)),
                                     out = operands_of(spots_of(outputs));
  const kernels::KernelDef& def = kernels::kernel(kernels::KernelId::copy);
  kernels::Prepared prepared = def.prepare({in, out, {}, {}, nullptr, nullptr});
  call.run = prepared.run != nullptr ? prepared.run : def.run;
  if (prepared.refusal) {
    call.run = ops::identity_op.reference;
    call.kernel = "reference";
  }
  out_->scratch_bytes = std::max(out_->scratch_bytes, prepared.scratch_bytes);
  call.first_operand = add_operands(inputs, outputs);
  call.prepared = std::move(prepared.state);
  emit_call(std::move(call));
}

void Binder::emit_alias(const Location& from, const Location& to, bool moved) {
  touch(from);
  out_->aliases.push_back({from.spot, to.spot, moved});
  emit(Op::alias, static_cast<std::uint32_t>(out_->aliases.size() - 1));
}

Location Binder::straight(const Location& location, const tensor::Shape& dims, ir::NodeId node) {
  if (!location.spot.present() || (!location.spot.is_dynamic() && layout(location.spot).contiguous))
    return location;
  const Location copy = new_buffer(location.spot.dtype, dims);
  emit_copy(location, copy, node);
  return copy;
}

}  // namespace scanloom::plan
