#include "plan/bind/builder.h"

#include <algorithm>
#include <iterator>

#include "base/assert.h"
#include "ir/op_def.h"
#include "plan/bind/step_time.h"
#include "plan/cost.h"

namespace scanloom::plan {
namespace {

/// Nodes outside loops that touch at least this many elements take long enough to poll.
constexpr std::int64_t kMinElementsToPoll = 1 << 15;

/// Returns the elements of the operands that the call touches for its own results.
std::int64_t own_elements(const Binding& binding, const BoundCall& call) {
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < std::size_t{call.inputs} + call.outputs; ++i) {
    const Spot& spot = binding.operands[call.first_operand + i];
    if (call.is_own(i) && spot.present())
      elements += binding.layouts[static_cast<std::size_t>(spot.layout)].dims.elements();
  }
  return elements;
}

}  // namespace

void Location::add_buffers(const std::vector<BufferId>& more) {
  std::vector<BufferId> all;
  std::ranges::set_union(buffers, more, std::back_inserter(all));
  buffers = std::move(all);
}

std::vector<Spot> spots_of(const std::vector<Location>& locations) {
  std::vector<Spot> spots;
  for (const Location& location : locations) spots.push_back(location.spot);
  return spots;
}

BoundCall call_of_node(const ir::Node& node, ir::NodeId id) {
  BoundCall call;
  call.attrs = node.attrs.data();
  call.node = id;
  call.is_random = node.op->effects == ir::Effects::random;
  return call;
}

tensor::Operand operand_of(const Layout& layout, DType dtype, std::int64_t offset) {
  // Kernels only ask whether an operand is there; its address is not known before a run.
  static std::byte* const kThere = nullptr;
  return {const_cast<std::byte**>(&kThere),
          offset,
          layout.dims.data(),
          layout.strides.data(),
          layout.dims.rank(),
          dtype,
          layout.contiguous};
}

std::vector<tensor::Operand> operands_of(const Binding& binding, std::span<const Spot> spots) {
  std::vector<tensor::Operand> operands;
  for (const Spot& spot : spots)
    operands.push_back(spot.present()
                           ? operand_of(binding.layouts[static_cast<std::size_t>(spot.layout)],
                                        spot.dtype, spot.offset)
                           : tensor::Operand());
  return operands;
}

std::vector<const void*> constants_of(const Binding& binding, std::span<const Spot> spots,
                                      bool& of_plan) {
  std::vector<const void*> constants;
  of_plan = true;
  for (const Spot& spot : spots) {
    const SlotInit* init =
        spot.slot != kNone ? &binding.slots[static_cast<std::size_t>(spot.slot)] : nullptr;
    const bool constant = init != nullptr && init->constant != nullptr;
    constants.push_back(constant ? init->constant + spot.offset : nullptr);
    of_plan &= !constant || init->of_plan;
  }
  return constants;
}

std::vector<const void*> constants_for(const kernels::KernelDef& kernel, const Binding& binding,
                                       std::span<const Spot> spots, bool& of_plan) {
  std::vector<const void*> constants = constants_of(binding, spots, of_plan);
  if (of_plan || !kernel.packs_constants) return constants;
  for (std::size_t i = 0; i < spots.size(); ++i)
    if (constants[i] != nullptr && !binding.slots[static_cast<std::size_t>(spots[i].slot)].of_plan)
      constants[i] = nullptr;
  of_plan = true;
  return constants;
}

BindingBuilder::BindingBuilder(const std::shared_ptr<const Plan>& plan,
                               std::span<const tensor::Shape> feed_shapes)
    : out_(std::make_shared<Binding>()) {
  out_->plan = plan;
  out_->feed_shapes.assign(feed_shapes.begin(), feed_shapes.end());
  new_slot({.kind = SlotInit::Kind::arena, .index = kNone});  // scratch, after the buffers
}

SlotId BindingBuilder::new_slot(SlotInit init) {
  out_->slots.push_back(init);
  return static_cast<SlotId>(out_->slots.size() - 1);
}

std::int32_t BindingBuilder::add_layout(const tensor::Shape& dims, const tensor::Shape& strides) {
  out_->layouts.push_back({dims, strides, tensor::is_contiguous(dims.dims(), strides.dims())});
  return static_cast<std::int32_t>(out_->layouts.size() - 1);
}

std::int32_t BindingBuilder::contiguous_layout(const tensor::Shape& dims) {
  return add_layout(dims, tensor::contiguous_strides(dims));
}

Location BindingBuilder::new_buffer(DType dtype, const tensor::Shape& shape) {
  const BufferId buffer = arena_.add(shape.elements() * bytes_of(dtype));
  Location location;
  location.spot.slot = new_slot({.kind = SlotInit::Kind::arena, .index = buffer});
  location.spot.layout = contiguous_layout(shape);
  location.spot.buffer = buffer;
  location.spot.dtype = dtype;
  location.buffers = {buffer};
  return location;
}

Location BindingBuilder::new_dynamic(DType dtype) {
  Location location;
  location.spot.slot = new_slot();
  location.spot.dynamic = out_->dynamic_count++;
  location.spot.dtype = dtype;
  return location;
}

Location BindingBuilder::new_object(DType dtype, ObjectInit init) {
  Location location;
  location.spot.object = static_cast<ObjectId>(out_->objects.size());
  location.spot.dtype = dtype;
  out_->objects.push_back(std::move(init));
  return location;
}

Location BindingBuilder::new_constant(const tensor::Tensor& value, bool of_plan,
                                      std::uint32_t readers) {
  if (value.dtype() == DType::string)
    return new_object(value.dtype(),
                      {.kind = ObjectInit::Kind::constant, .constant = value, .feed = 0});
  out_->constants.push_back(value);
  Location location;
  const bool waits = !value.is_aligned() && loop_depth_ == 0;
  const void* const data = waits ? value.stored() : value.data();
  location.spot.slot = new_slot({.kind = SlotInit::Kind::constant,
                                 .constant = static_cast<const std::byte*>(data),
                                 .of_plan = of_plan});
  if (waits) unaligned_.add(location.spot.slot, value, readers);
  location.spot.layout = contiguous_layout(value.shape());
  location.spot.dtype = value.dtype();
  return location;
}

bool align(BindingBuilder& builder, std::span<const Location> constants, std::uint32_t packed) {
  return builder.unaligned_.align(*builder.out_, constants, packed);
}

std::vector<BufferId> BindingBuilder::buffers_of(const Spot& spot) const {
  if (spot.buffer != kNone) return {spot.buffer};
  const auto found = buffers_behind_.find(spot.slot);
  if (found == buffers_behind_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::uint32_t BindingBuilder::emit(Op op, std::uint32_t index) {
  const std::uint32_t at = next();
  const InstructionScope instruction(*this, op, index);
  return at;
}

std::uint32_t BindingBuilder::emit_call(BoundCall call, const std::vector<Location>& inputs,
                                        const std::vector<Location>& outputs,
                                        std::uint32_t packed) {
  align(*this, inputs, packed);
  unaligned_.note_packed(inputs);
  const auto index = static_cast<std::uint32_t>(out_->calls.size());
  {
    InstructionScope instruction(*this, Op::call, index);
    call.first_operand = instruction.operands(inputs, outputs);
    call.inputs = static_cast<std::uint16_t>(inputs.size());
    call.outputs = static_cast<std::uint16_t>(outputs.size());
    out_->calls.push_back(std::move(call));
  }
  const BoundCall& emitted = out_->calls[index];
  if (loop_depth_ > 0) {
    const double nanoseconds = max_nanoseconds(*out_, emitted);
    if (nanoseconds >= kMinChargeOfCall) emit_charge(nanoseconds);
  } else if (own_elements(*out_, emitted) >= kMinElementsToPoll) {
    emit(Op::poll, emitted.node.index);
  }
  return index;
}

void BindingBuilder::emit_dynamic_call(DynamicCall dynamic, const std::vector<Location>& inputs,
                                       const std::vector<Location>& outputs) {
  align(*this, inputs);
  InstructionScope instruction(*this, Op::dynamic_call, out_->dynamic_calls.size());
  dynamic.call.first_operand = instruction.operands(inputs, outputs);
  dynamic.call.inputs = static_cast<std::uint16_t>(inputs.size());
  dynamic.call.outputs = static_cast<std::uint16_t>(outputs.size());
  out_->dynamic_calls.push_back(std::move(dynamic));
}

void BindingBuilder::emit_object_call(BoundObjectCall call, const std::vector<Location>& inputs,
                                      const std::vector<Location>& outputs) {
  align(*this, inputs);
  InstructionScope instruction(*this, Op::object_call, out_->object_calls.size());
  call.first_operand = instruction.operands(inputs, outputs);
  call.inputs = static_cast<std::uint16_t>(inputs.size());
  call.outputs = static_cast<std::uint16_t>(outputs.size());
  out_->object_calls.push_back(std::move(call));
}

void BindingBuilder::emit_charge(double nanoseconds) {
  constexpr double kMax = 4e9;
  emit(Op::charge, static_cast<std::uint32_t>(std::min(nanoseconds, kMax)));
}

void BindingBuilder::open_loop(const std::vector<BufferId>& used) {
  arena_.open_loop();
  for (const BufferId buffer : used) arena_.use(buffer);
  ++loop_depth_;
}

void BindingBuilder::close_loop() {
  arena_.close_loop();
  --loop_depth_;
}

void BindingBuilder::begin_block_code() {
  block_begin_ = out_->code.size();
  touched_in_block_.emplace();
}

BlockCode BindingBuilder::end_block_code() {
  const auto first = out_->code.begin() + static_cast<std::ptrdiff_t>(block_begin_);
  BlockCode block{.code = {first, out_->code.end()}, .buffers = *std::move(touched_in_block_)};
  touched_in_block_.reset();
  out_->code.resize(block_begin_);
  return block;
}

void BindingBuilder::append(const BlockCode& block) {
  out_->code.insert(out_->code.end(), block.code.begin(), block.code.end());
  out_->code.push_back({Op::end, 0});
}

void BindingBuilder::keep_until(BufferId buffer, std::uint32_t instruction) {
  arena_.keep_until(buffer, moments_[instruction]);
}

Expected<void> BindingBuilder::place_buffers() {
  unaligned_.align_others(*out_);
  SCANLOOM_CHECK_OK(arena_.place());
  for (SlotInit& slot : out_->slots)
    if (slot.kind == SlotInit::Kind::arena && slot.index != kNone)
      slot.offset = arena_.offset(slot.index);
  out_->arena_bytes = arena_.total_bytes();
  out_->history = {arena_.buffers(), moments_};
  out_->slots[kScratchSlot].offset = arena_.total_bytes();
  return {};
}

void BindingBuilder::touch(const Location& location) {
  if (location.spot.buffer == kNone && !location.buffers.empty())
    buffers_behind_[location.spot.slot].insert(location.buffers.begin(), location.buffers.end());
  for (const BufferId buffer : location.buffers) {
    arena_.use(buffer);
    if (touched_in_block_) touched_in_block_->push_back(buffer);
  }
}

InstructionScope::InstructionScope(BindingBuilder& builder, Op op, std::size_t index)
    : builder_(builder), instruction_{op, static_cast<std::uint32_t>(index)} {
  SCANLOOM_ASSERT(!builder_.in_instruction_);
  builder_.in_instruction_ = true;
}

InstructionScope::~InstructionScope() {
  std::vector<Instruction>& code = builder_.out_->code;
  code.push_back(instruction_);
  builder_.moments_.resize(code.size());
  builder_.moments_.back() = builder_.arena_.now();
  builder_.arena_.tick();
  builder_.in_instruction_ = false;
}

std::uint32_t InstructionScope::operands(const std::vector<Location>& inputs,
                                         const std::vector<Location>& outputs) {
  std::vector<Spot>& operands = builder_.out_->operands;
  const auto first = static_cast<std::uint32_t>(operands.size());
  for (const Location& input : inputs) {
    operands.push_back(input.spot);
    read(input);
  }
  for (const Location& output : outputs) {
    operands.push_back(output.spot);
    write(output);
  }
  return first;
}

}  // namespace scanloom::plan
