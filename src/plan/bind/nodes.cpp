#include "plan/bind/nodes.h"
#include "plan/bind/ask_kernel.h"

#include <algorithm>

#include "ir/call_reference.h"
#include "ops/ops.h"
#include "ops/pointwise.h"
#include "plan/bind/bound_view.h"
#include "plan/bind/copies.h"
#include "plan/bind/dynamic.h"
#include "plan/bind/pipelined_projection.h"

namespace scanloom::plan {
namespace {

std::vector<std::optional<DType>> input_dtypes(const std::vector<Location>& inputs) {
  std::vector<std::optional<DType>> dtypes;
  for (const Location& input : inputs)
    dtypes.push_back(input.spot.present() ? std::optional(input.spot.dtype) : std::nullopt);
  return dtypes;
}

/// Copies operands that alias the state that the node updates in place, such as a row that becomes
/// the next one.
void copy_overlapping(BindContext& ctx, const ir::Node& node, std::vector<Location>& inputs) {
  if (!ctx.values.is_in_place(node.outputs[0])) return;
  const std::vector<BufferId> state = inputs[0].buffers;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    Location& input = inputs[i];
    if (!input.spot.present() ||
        std::ranges::find_first_of(input.buffers, state) == input.buffers.end())
      continue;
    const Location copy =
        input.spot.is_dynamic()
            ? ctx.builder.new_dynamic(input.spot.dtype)
            : ctx.builder.new_buffer(input.spot.dtype, ctx.builder.layout(input.spot).dims);
    emit_copy(ctx.builder, input, copy, ctx.module.value(node.outputs[0]).producer);
    input = copy;
  }
}

/// Chooses the kernel of one node and emits its call.
class KernelChoice {
 public:
  KernelChoice(BindContext& ctx, ir::NodeId id)
      : ctx_(ctx), id_(id), node_(ctx.module.node(id)), kernels_(candidates(*node_.op)) {
    inputs_ = ctx.values.of_inputs(node_);
    copy_overlapping(ctx, node_, inputs_);
    leaves_out_ = std::ranges::any_of(kernels_, [](kernels::KernelId candidate) {
      return kernels::kernel(candidate).leaves_out_unread;
    });
    for (std::size_t i = 0; i < node_.outputs.size(); ++i) {
      const bool left_out = leaves_out_ && i > 0 && ctx.values.uses(node_.outputs[i]) == 0;
      outputs_.push_back(left_out ? Location{} : result(i));
    }
  }

  Expected<void> emit() {
    const bool nothing =
        ir::makes_nothing(*node_.op, operands_of(ctx_.builder.binding(), spots_of(outputs_)));
    if (!nothing && (emit_first_that_takes() || (copy_strided() && emit_first_that_takes())))
      return {};
    if (node_.op->reference == nullptr)
      return fail(Code::unsupported, "{}: operator '{}' has no kernel", ctx_.module.describe(id_),
                  node_.op->name);
    place_all();
    BoundCall call = call_of_node(node_, id_);
    call.run = nothing ? tensor::do_nothing : node_.op->reference;
    call.kernel = nothing ? CallKernel::nothing() : CallKernel::reference();
    call.refusals = std::move(refusals_);
    ctx_.builder.emit_call(std::move(call), inputs_, outputs_);
    return {};
  }

 private:
  Location result(std::size_t output) {
    const ir::ValueId id = node_.outputs[output];
    std::optional<Location> rows = ctx_.values.unread_rows(node_, output);
    Location location = rows ? *std::move(rows) : ctx_.values.result(id);
    ctx_.values.set(id, location);
    return location;
  }

  void place_all() {
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (!outputs_[i].spot.present()) outputs_[i] = result(i);
  }

  bool emit_first_that_takes() {
    refusals_.clear();
    return std::ranges::any_of(kernels_, [&](kernels::KernelId candidate) {
      const kernels::KernelDef& def = kernels::kernel(candidate);
      if (leaves_out_ && !def.leaves_out_unread) place_all();
      const auto refusal = try_kernel(candidate, def);
      if (refusal) refusals_.emplace_back(std::string(def.name) + ": " + refusal->reason, id_);
      return !refusal;
    });
  }

  /// Emits the call where the kernel takes it; returns its refusal otherwise.
  std::optional<Refusal> try_kernel(kernels::KernelId candidate, const kernels::KernelDef& def) {
    // An element program knows only the operands that are there.
    std::vector<Location> inputs = inputs_;
    if (node_.op->scalar != nullptr)
      std::erase_if(inputs, [](const Location& input) { return !input.spot.present(); });
    const std::vector<Spot> spots = spots_of(inputs);
    const std::vector<tensor::Operand> in = operands_of(ctx_.builder.binding(), spots),
                                       out =
                                           operands_of(ctx_.builder.binding(), spots_of(outputs_));
    bool of_plan = true;
    std::vector<const void*> constants = constants_for(def, ctx_.builder.binding(), spots, of_plan);
    // The pack cache is keyed by address and lives as long as the plan, so it may only hold
    // constants that the plan owns.
    kernels::PrepareCtx asked{in,          out,     constants,
                              node_.attrs, nullptr, of_plan ? &ctx_.plan->packs : nullptr};
    tensor::ScalarProgram program;
    if (node_.op->scalar != nullptr) {
      program = ops::pointwise_program(*node_.op, input_dtypes(inputs_), node_.attrs);
      asked.program = &program;
    }
    kernels::Prepared prepared = ask_kernel(ctx_.builder, def, asked, inputs, [&] {
      std::ranges::copy(constants_for(def, ctx_.builder.binding(), spots, of_plan),
                        constants.begin());
    });
    if (prepared.refusal) return std::move(prepared.refusal);
    std::int64_t& scratch = ctx_.builder.binding().scratch_bytes;
    scratch = std::max(scratch, prepared.scratch_bytes);
    BoundCall call = call_of_node(node_, id_);
    call.run = prepared.run != nullptr ? prepared.run : def.run;
    call.kernel = candidate;
    call.prepared = std::move(prepared.state);
    ctx_.builder.emit_call(std::move(call), inputs, outputs_, prepared.packed);
    return std::nullopt;
  }

  /// Copies operands that are not row-major. Returns whether there were any.
  bool copy_strided() {
    bool copied = false;
    if (kernels_.empty()) return false;
    for (Location& input : inputs_) {
      if (!input.spot.present() || ctx_.builder.layout(input.spot).contiguous) continue;
      input = straight(ctx_.builder, input, ctx_.builder.layout(input.spot).dims, id_);
      copied = true;
    }
    return copied;
  }

  BindContext& ctx_;
  ir::NodeId id_;
  const ir::Node& node_;
  std::span<const kernels::KernelId> kernels_;
  std::vector<Location> inputs_, outputs_;
  std::vector<Refusal> refusals_;
  bool leaves_out_ = false;
};

/// Returns the axis along which a concat extends a state that nothing else reads; kNone for others.
std::int32_t growing_axis(const BindContext& ctx, const ir::Node& node) {
  if (node.op != &ops::concat_op || ctx.values.is_static(node.outputs[0])) return kNone;
  const ir::ValueId state = node.inputs[0];
  const tensor::Type& type = ctx.values.type(state);
  const bool is_state =
      !ctx.module.value(state).producer.valid() && ctx.values.may_take_storage(state);
  if (!is_state || !type.ranked) return kNone;
  return tensor::normalise_axis(node.attrs[0].integer(), type.rank()).value_or(kNone);
}

/// Whether the slice of a static value need not be copied, because all its readers accept strides.
bool views_when_run(BindContext& ctx, const ir::Node& node) {
  if (node.op != &ops::slice_op || ctx.values.is_static(node.outputs[0]) ||
      !is_static_tensor(ctx.values.at(node.inputs[0]).spot))
    return false;
  const ir::ValueId slice = node.outputs[0];
  std::uint32_t uses = 0;
  for (const ir::NodeId other : ctx.module.region(node.parent).nodes) {
    const ir::Node& reader = ctx.module.node(other);
    const auto reads = static_cast<std::uint32_t>(std::ranges::count(reader.inputs, slice));
    if (reads == 0) continue;
    const bool by_element = reader.op->scalar != nullptr || reader.op == &ops::gather_op ||
                            reader.op == &ops::gather_nd_op || reader.op == &ops::shape_op ||
                            reader.op == &ops::dim_op || reader.op == &ops::scatter_slice_op;
    if (!by_element) return false;
    uses += reads;
  }
  return uses == ctx.values.uses(slice);
}

}  // namespace

bool bind_view(BindContext& ctx, ir::NodeId id) {
  const ir::Node& node = ctx.module.node(id);
  Location location = ctx.values.at(node.inputs[0]);
  const Layout& from = ctx.builder.layout(location.spot);
  const std::optional<ir::ViewOf> view = bound_view(node, ctx.inference, from.dims, from.strides);
  if (!view) return false;
  location.spot.offset += view->offset * bytes_of(location.spot.dtype);
  location.spot.layout = ctx.builder.add_layout(view->dims, view->strides);
  ctx.values.set(node.outputs[0], std::move(location));
  return true;
}

Expected<void> bind_kernel(BindContext& ctx, ir::NodeId id) {
  if (ctx.pipeline && ctx.pipeline->has(id)) return ctx.pipeline->bind(id);
  return KernelChoice(ctx, id).emit();
}

Expected<void> bind_dynamic(BindContext& ctx, ir::NodeId id) {
  const ir::Node& node = ctx.module.node(id);
  if (node.op->reference == nullptr)
    return fail(Code::unsupported, "{}: operator '{}' has no kernel", ctx.module.describe(id),
                node.op->name);
  std::vector<Location> inputs = ctx.values.of_inputs(node), outputs;
  copy_overlapping(ctx, node, inputs);
  const bool views = views_when_run(ctx, node);
  for (const ir::ValueId output : node.outputs) {
    const bool is_static = ctx.values.is_static(output);
    outputs.push_back(is_static ? ctx.values.result(output)
                                : ctx.builder.new_dynamic(ctx.values.type(output).dtype));
    ctx.values.set_own_storage(output, !is_static && !views);
    if (views) outputs.back().buffers = inputs[0].buffers;
    ctx.values.set(output, outputs.back());
  }
  DynamicCall dynamic{.call = call_of_node(node, id)};
  dynamic.resolve = resolve_shapes;
  dynamic.views_slice = views;
  dynamic.call.run = node.op->reference;
  dynamic.call.kernel = CallKernel::reference();
  dynamic.grows_along = growing_axis(ctx, node);
  const bool all_there =
      std::ranges::all_of(inputs, [](const Location& input) { return input.spot.present(); });
  if (node.op->scalar != nullptr && all_there)
    dynamic.program = std::make_shared<const tensor::ScalarProgram>(
        ops::pointwise_program(*node.op, input_dtypes(inputs), node.attrs));
  ctx.builder.emit_dynamic_call(std::move(dynamic), inputs, outputs);
  if (ctx.builder.loop_depth() == 0) ctx.builder.emit(Op::poll, id.index);
  return {};
}

}  // namespace scanloom::plan
