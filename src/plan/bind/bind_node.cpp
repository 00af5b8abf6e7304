// Ordinary nodes: views become offsets and strides, everything else one call of the first kernel
// that accepts the operands as they lie.
#include <algorithm>

#include "ir/call_reference.h"
#include "ops/ops.h"
#include "ops/pointwise.h"
#include "plan/bind/binder.h"
#include "plan/bind/bound_view.h"
#include "plan/bind/dynamic.h"
#include "plan/cost.h"

namespace scanloom::plan {
namespace {

/// Nodes outside of loops that touch as many elements take long enough for a look at the clock.
constexpr std::int64_t kElementsWorthALook = 1 << 15;

bool is_tensor_of_known_sizes(const Spot& spot) {
  return spot.present() && !spot.is_dynamic() && !spot.is_object();
}

std::vector<std::optional<DType>> input_dtypes(const std::vector<Location>& inputs) {
  std::vector<std::optional<DType>> dtypes;
  for (const Location& input : inputs)
    dtypes.push_back(input.spot.present() ? std::optional(input.spot.dtype) : std::nullopt);
  return dtypes;
}

}  // namespace

/// Emits the call where the kernel takes it; returns its refusal otherwise.
std::optional<Refusal> Binder::try_kernel(ir::NodeId id, const kernels::KernelDef& def,
                               const std::vector<Location>& all_inputs,
                               const std::vector<Location>& outputs) {
  const ir::Node& node = module_.node(id);
  // An element program knows only the operands that are there.
  std::vector<Location> inputs = all_inputs;
  if (node.op->scalar != nullptr)
    std::erase_if(inputs, [](const Location& input) { return !input.spot.present(); });
  const std::vector<Spot> spots = spots_of(inputs);
  const std::vector<tensor::Operand> in = operands_of(spots), out = operands_of(spots_of(outputs));
  bool of_plan = true;
  const std::vector<const void*> constants = constants_of(spots, of_plan);
  // Packs are kept by address for as long as the plan lives: only of constants that do so too.
  kernels::PrepareCtx ctx{in,         out,     constants,
                          node.attrs, nullptr, of_plan ? &plan_->packs : nullptr};
  tensor::ScalarProgram program;
  if (node.op->scalar != nullptr) {
    program = ops::pointwise_program(*node.op, input_dtypes(all_inputs), node.attrs);
    ctx.program = &program;
  }
  kernels::Prepared prepared = def.prepare(ctx);
  if (prepared.refusal) return Refusal(std::move(prepared.refusal->reason), id);
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
  call.is_random = node.op->effects == ir::Effects::random;
  call.refusals = std::move(refusals_);
  emit_call(std::move(call));
  return std::nullopt;
}

void Binder::emit_call(BoundCall call) {
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < std::size_t{call.inputs} + call.outputs; ++i)
    if (const Spot& spot = out_->operands[call.first_operand + i]; spot.present())
      elements += layout(spot).dims.elements();
  out_->calls.push_back(std::move(call));
  const auto index = static_cast<std::uint32_t>(out_->calls.size() - 1);
  emit(Op::call, index);
  if (loop_depth_ > 0) {
    const double nanoseconds = most_nanoseconds(out_->calls.back());
    if (nanoseconds >= kLeastSpentByCall) emit_spend(nanoseconds);
  } else if (elements >= kElementsWorthALook) {
    emit(Op::look, out_->calls.back().node.index);
  }
}

bool Binder::bind_view(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  Location location = this->location(node.inputs[0]);
  const Layout& from = layout(location.spot);
  const std::optional<ir::ViewOf> view = bound_view(node, inference_, from.dims, from.strides);
  if (!view) return false;
  location.spot.offset +=
      view->offset * static_cast<std::int64_t>(dtype_bytes(location.spot.dtype));
  location.spot.layout = add_layout(view->dims, view->strides);
  set_location(node.outputs[0], std::move(location));
  return true;
}

Location Binder::result_location(const ir::Node& node, std::size_t output) {
  std::optional<Location> rows = unread_rows(node, output);
  Location location = rows ? *std::move(rows) : output_location(node.outputs[output]);
  set_location(node.outputs[output], location);
  return location;
}

/// Copies operands that alias the state that the node updates in place: a row that becomes the next
/// one.
void Binder::copy_overlapping(const ir::Node& node, std::vector<Location>& inputs) {
  if (!updates_in_place_[node.outputs[0].index]) return;
  const std::vector<BufferId> state = inputs[0].buffers;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    Location& input = inputs[i];
    if (!input.spot.present() ||
        std::ranges::find_first_of(input.buffers, state) == input.buffers.end())
      continue;
    const Location copy = input.spot.is_dynamic()
                              ? new_dynamic(input.spot.dtype)
                              : new_buffer(input.spot.dtype, layout(input.spot).dims);
    emit_copy(input, copy, module_.value(node.outputs[0]).producer);
    input = copy;
  }
}

Expected<void> Binder::bind_kernel(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  std::vector<Location> inputs, outputs;
  for (const ir::ValueId input : node.inputs)
    inputs.push_back(input.valid() ? location(input) : Location{});
  copy_overlapping(node, inputs);
  const bool leaves_out = std::ranges::any_of(
      candidates(*node.op),
      [](kernels::KernelId candidate) { return kernels::kernel(candidate).leaves_out_unread; });
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const bool left_out = leaves_out && i > 0 && uses_[node.outputs[i].index] == 0;
    outputs.push_back(left_out ? Location{} : result_location(node, i));
  }
  const auto place_all = [&] {
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (!outputs[i].spot.present()) outputs[i] = result_location(node, i);
  };
  const auto try_all = [&] {
    return std::ranges::any_of(candidates(*node.op), [&](kernels::KernelId candidate) {
      const kernels::KernelDef& def = kernels::kernel(candidate);
      if (leaves_out && !def.leaves_out_unread) place_all();
      const auto refusal = try_kernel(id, def, inputs, outputs);
      if (refusal) refusals_.emplace_back(std::string(def.name) + ": " + refusal->reason, id);
      return !refusal;
    });
  };
  refusals_.clear();
  const bool nothing = ir::makes_nothing(*node.op, operands_of(spots_of(outputs)));
  if (!nothing && try_all()) return {};
  bool copied = false;
  if (!nothing && !candidates(*node.op).empty())
    for (Location& input : inputs) {
      if (!input.spot.present() || layout(input.spot).contiguous) continue;
      input = straight(input, layout(input.spot).dims, id);
      copied = true;
    }
  if (copied && try_all()) return {};
  if (node.op->reference == nullptr)
    return fail(Code::unsupported, "{}: operator '{}' has no kernel", module_.describe(id),
                node.op->name);
  place_all();
  BoundCall call;
  call.run = nothing ? tensor::do_nothing : node.op->reference;
  call.kernel = nothing ? "nothing" : "reference";
  call.first_operand = add_operands(inputs, outputs);
  call.inputs = static_cast<std::uint16_t>(inputs.size());
  call.outputs = static_cast<std::uint16_t>(outputs.size());
  call.attrs = node.attrs.data();
  call.node = id;
  call.is_random = node.op->effects == ir::Effects::random;
  call.refusals = std::move(refusals_);
  emit_call(std::move(call));
  return {};
}

/// Of a concat to a state that nothing else reads: its axis.
std::int32_t Binder::growing_axis(const ir::Node& node) const {
  if (node.op != &ops::concat_op || is_static(node.outputs[0])) return kNone;
  const ir::ValueId state = node.inputs[0];
  const bool is_state = !module_.value(state).producer.valid() && may_take_box(state);
  if (!is_state || !type(state).ranked) return kNone;
  return tensor::normalise_axis(node.attrs[0].integer(), type(state).rank()).value_or(kNone);
}

/// Whether the slice of a value that is there need not be copied: all its readers take elements as
/// they lie.
bool Binder::views_when_run(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  if (node.op != &ops::slice_op || is_static(node.outputs[0]) ||
      !is_tensor_of_known_sizes(location(node.inputs[0]).spot))
    return false;
  const ir::ValueId slice = node.outputs[0];
  std::uint32_t uses = 0;
  for (const ir::NodeId other : module_.region(node.parent).nodes) {
    const ir::Node& reader = module_.node(other);
    const auto reads = static_cast<std::uint32_t>(std::ranges::count(reader.inputs, slice));
    if (reads == 0) continue;
    const bool by_element = reader.op->scalar != nullptr || reader.op == &ops::gather_op ||
                            reader.op == &ops::gather_nd_op || reader.op == &ops::shape_op ||
                            reader.op == &ops::dim_op || reader.op == &ops::scatter_slice_op;
    if (!by_element) return false;
    uses += reads;
  }
  return uses == uses_[slice.index];
}

Expected<void> Binder::bind_dynamic(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  if (node.op->reference == nullptr)
    return fail(Code::unsupported, "{}: operator '{}' has no kernel", module_.describe(id),
                node.op->name);
  std::vector<Location> inputs, outputs;
  for (const ir::ValueId input : node.inputs)
    inputs.push_back(input.valid() ? location(input) : Location{});
  copy_overlapping(node, inputs);
  const bool views = views_when_run(id);
  for (const ir::ValueId output : node.outputs) {
    outputs.push_back(is_static(output) ? output_location(output)
                                        : new_dynamic(type(output).dtype));
    has_own_box_[output.index] = !is_static(output) && !views;
    if (views) outputs.back().buffers = inputs[0].buffers;
    set_location(output, outputs.back());
  }
  DynamicCall dynamic;
  dynamic.resolve = resolve_shapes;
  dynamic.views_slice = views;
  dynamic.call.run = node.op->reference;
  dynamic.call.kernel = "reference";
  dynamic.call.first_operand = add_operands(inputs, outputs);
  dynamic.call.inputs = static_cast<std::uint16_t>(inputs.size());
  dynamic.call.outputs = static_cast<std::uint16_t>(outputs.size());
  dynamic.call.attrs = node.attrs.data();
  dynamic.call.node = id;
  dynamic.call.is_random = node.op->effects == ir::Effects::random;
  dynamic.grows_along = growing_axis(node);
  const bool all_there =
      std::ranges::all_of(inputs, [](const Location& input) { return input.spot.present(); });
  if (node.op->scalar != nullptr && all_there)
    dynamic.program = std::make_shared<const tensor::ScalarProgram>(
        ops::pointwise_program(*node.op, input_dtypes(inputs), node.attrs));
  out_->dynamic_calls.push_back(std::move(dynamic));
  emit(Op::dynamic_call, static_cast<std::uint32_t>(out_->dynamic_calls.size() - 1));
  if (loop_depth_ == 0) emit(Op::look, id.index);
  return {};
}

}  // namespace scanloom::plan
