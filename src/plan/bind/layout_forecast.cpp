#include "plan/bind/layout_forecast.h"

#include <algorithm>
#include <ranges>
#include <vector>

#include "ops/ops.h"
#include "plan/bind/bound_view.h"
#include "plan/bind/loop_ports.h"
#include "plan/bind/stacks.h"
#include "tensor/tensor.h"

namespace scanloom::plan {
namespace {

Layout row_major(const tensor::Shape& dims) {
  return {dims, tensor::contiguous_strides(dims), true};
}

/// Whether the result is a view of the node's first operand, if the layout of that allows it.
bool may_be_view(const BindContext& ctx, const ir::Node& node) {
  return node.op->view != nullptr && std::ranges::all_of(node.inputs, [&](ir::ValueId input) {
           return !input.valid() || (ctx.values.is_static(input) && !ctx.values.is_object(input));
         });
}

}  // namespace

bool LaidOut::agrees_with(const Binding& binding, const Spot& spot) const {
  if (!is_static_tensor(spot) || spot.dtype != dtype) return false;
  const LaidOut own = laid_out_at(binding, spot);
  return own.layout.dims == layout.dims && own.layout.strides == layout.strides &&
         own.constant == constant;
}

LaidOut laid_out_at(const Binding& binding, const Spot& spot) {
  const SlotInit& slot = binding.slots[static_cast<std::size_t>(spot.slot)];
  return {.layout = binding.layouts[static_cast<std::size_t>(spot.layout)],
          .dtype = spot.dtype,
          .constant = slot.constant != nullptr ? slot.constant + spot.offset : nullptr,
          .of_plan = slot.of_plan};
}

std::optional<LaidOut> LayoutForecast::of(ir::ValueId value) const {
  std::vector<ir::NodeId> views;  // on the way back, the first that was met first
  std::optional<LaidOut> found;
  while (!found) {
    if (ctx_.values.is_object(value) || !ctx_.values.is_static(value)) return std::nullopt;
    if (const std::optional<ir::ValueId> source = source_of(value)) {
      value = *source;
      continue;
    }
    const ir::NodeId producer = ctx_.module.value(value).producer;
    const bool is_open = !ctx_.values.bound(value).spot.present() && producer.valid() &&
                         !ctx_.inference.makes_constants(ctx_.module.node(producer));
    if (is_open && may_be_view(ctx_, ctx_.module.node(producer))) {
      views.push_back(producer);
      value = ctx_.module.node(producer).inputs[0];
      continue;
    }
    found = origin(value);
    if (!found) return std::nullopt;
  }
  for (const ir::NodeId id : views | std::views::reverse) {
    const ir::Node& node = ctx_.module.node(id);
    const auto view = bound_view(node, ctx_.inference, found->layout.dims, found->layout.strides);
    if (!view) {
      found = contiguous_result(ctx_, node.outputs[0]);
      continue;
    }
    found->layout = {view->dims, view->strides,
                     tensor::is_contiguous(view->dims.dims(), view->strides.dims())};
    if (found->constant != nullptr) found->constant += view->offset * bytes_of(found->dtype);
  }
  return found;
}

/// The value whose location this one shares: that of a captured argument, of an argument of a
/// branch's region, or of a result of a branch whose region is known.
std::optional<ir::ValueId> LayoutForecast::source_of(ir::ValueId id) const {
  const ir::Value& value = ctx_.module.value(id);
  if (ctx_.values.bound(id).spot.present()) return std::nullopt;
  if (!value.producer.valid()) {
    const ir::Node& owner = ctx_.module.node(ctx_.module.region(value.region).owner);
    if (owner.op == &ir::branch_op) return owner.inputs[value.index + 1];
    if (value.index < owner.loop->captured)
      return owner.inputs[owner.loop->first_captured_input() + value.index];
    return std::nullopt;
  }
  const ir::Node& node = ctx_.module.node(value.producer);
  const int taken = ctx_.inference.taken_branch[value.producer.index];
  if (node.op != &ir::branch_op || taken < 0 || ctx_.inference.makes_constants(node))
    return std::nullopt;
  return ctx_.module.region(node.regions[static_cast<std::size_t>(taken)]).yields[value.index];
}

/// The layout of a value that is neither a view of another nor stored where another is.
std::optional<LaidOut> LayoutForecast::origin(ir::ValueId id) const {
  if (ctx_.values.bound(id).spot.present()) return bound(id);
  const ir::Value& value = ctx_.module.value(id);
  if (!value.producer.valid()) {
    const ir::LoopPorts& ports = *ctx_.module.node(loop_.node).loop;
    const std::uint32_t first_scanned = ports.captured + ports.carried;
    return value.index < first_scanned ? contiguous_result(ctx_, id)
                                       : slice(value.index - first_scanned);
  }
  if (const tensor::Tensor* const data = ctx_.inference.constant(id);
      data != nullptr && ctx_.inference.makes_constants(ctx_.module.node(value.producer)))
    return LaidOut{.layout = row_major(data->shape()),
                   .dtype = data->dtype(),
                   .constant = static_cast<const std::byte*>(data->data()),
                   .of_plan = ctx_.values.is_of_plan(id)};
  return is_placed(id) ? std::optional(contiguous_result(ctx_, id)) : std::nullopt;
}

LaidOut contiguous_result(const BindContext& ctx, ir::ValueId value) {
  const tensor::Type& type = ctx.values.type(value);
  return {.layout = row_major(type.shape()), .dtype = type.dtype};
}

std::optional<LaidOut> LayoutForecast::bound(ir::ValueId id) const {
  const Spot& spot = ctx_.values.bound(id).spot;
  if (!is_static_tensor(spot)) return std::nullopt;
  return laid_out_at(ctx_.builder.binding(), spot);
}

std::optional<LaidOut> LayoutForecast::slice(std::size_t i) const {
  const ir::Node& node = ctx_.module.node(loop_.node);
  const ir::LoopPorts& ports = *node.loop;
  const ir::ScannedPort& port = ports.scanned[i];
  const ir::ValueId outer = node.inputs[ports.first_scanned_input() + i];
  const ir::Region& body = ctx_.module.region(node.regions[0]);
  if (ctx_.values.bound(outer).spot.is_dynamic())
    return port.axis == 0 ? std::optional(contiguous_result(
                                ctx_, body.args[ports.captured + ports.carried + i]))
                          : std::nullopt;
  const bool in_blocks = !loop_.blocks.ports.empty() && loop_.blocks.ports[i];
  std::optional<LaidOut> whole = in_blocks ? contiguous_result(ctx_, outer) : of(outer);
  if (!whole || port.axis >= whole->layout.dims.rank()) return std::nullopt;
  if (in_blocks) {
    tensor::Shape block = whole->layout.dims;
    block[static_cast<int>(port.axis)] = loop_.blocks.steps;
    whole->layout.strides = tensor::contiguous_strides(block);
  }
  const SliceWalk walk = walk_over(whole->layout, port, loop_.blocks, in_blocks, whole->dtype);
  return LaidOut{.layout = walk.slice, .dtype = whole->dtype};
}

/// Whether binding gives memory to a result of known sizes. Loops have results whose rows only
/// the run counts, or whose sizes are known although those of the states are not.
bool LayoutForecast::is_placed(ir::ValueId id) const {
  const ir::Value& value = ctx_.module.value(id);
  const ir::Node& node = ctx_.module.node(value.producer);
  if (node.op != &ir::loop_op) return true;
  const std::uint32_t carried = node.loop->carried;
  if (value.index < carried)
    return ctx_.values.is_static(
        ctx_.module.region(node.regions[0]).args[node.loop->captured + value.index]);
  return has_known_rows(ctx_, value.producer, known_trip_count(ctx_, value.producer),
                        value.index - carried);
}

}  // namespace scanloom::plan
