// Walks the module, region by region, and makes the Binding; what a node becomes stands in the
// other files of Binder (binder.h).
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "ir/walk.h"
#include "plan/bind/binder.h"
#include "plan/check_feeds.h"

namespace scanloom::plan {
namespace {

/// The type of a sequence or optional: what is in it decides all sizes that are no numbers.
tensor::Type any_sizes(tensor::Type type, tensor::DimTable& dims) {
  for (tensor::Dim& dim : type.dims)
    if (!dim.is_constant()) dim = dims.fresh();
  return type;
}

}  // namespace

Binder::Binder(std::shared_ptr<const Plan> plan, std::span<const tensor::Shape> feed_shapes,
               const MayGoOn& may_go_on)
    : plan_(std::move(plan)),
      module_(plan_->module),
      out_(std::make_shared<Binding>()),
      last_uses_(module_),
      uses_(ir::count_uses(module_)),
      may_go_on_(may_go_on) {
  out_->plan = plan_;
  out_->feed_shapes.assign(feed_shapes.begin(), feed_shapes.end());
  new_slot({.kind = SlotInit::Kind::arena, .index = kNone});  // scratch, behind the buffers
  locations_.resize(module_.value_count());
  wanted_.resize(module_.value_count());
  owned_.resize(module_.value_count());
  updates_in_place_.resize(module_.value_count());
  has_own_box_.resize(module_.value_count());
}

Expected<std::vector<tensor::Type>> Binder::argument_types() {
  const ir::Region& top = module_.region(module_.top());
  SCANLOOM_CHECK_OK(check_feeds(module_, out_->feed_shapes));
  std::vector<tensor::Type> types;
  for (std::size_t i = 0; i < top.args.size(); ++i) {
    const tensor::Type& declared = module_.value(top.args[i]).type;
    types.push_back(declared.is_tensor() ? tensor::Type::of(declared.dtype, out_->feed_shapes[i])
                                         : any_sizes(declared, dims_));
  }
  return types;
}

Expected<std::shared_ptr<const Binding>> Binder::bind() {
  SCANLOOM_TRY(const std::vector<tensor::Type> arguments, argument_types());
  SCANLOOM_TRY(inference_, ir::infer(module_, arguments, dims_, {.evaluate = true}));
  bind_arguments();
  leave_to_loops();
  SCANLOOM_CHECK_OK(walk());
  SCANLOOM_CHECK_OK(place_buffers());
  compile_bodies();
  if (stopped_) return *std::move(stopped_);
  return std::shared_ptr<const Binding>(out_);
}

void Binder::bind_arguments() {
  const ir::Region& top = module_.region(module_.top());
  for (std::size_t i = 0; i < top.args.size(); ++i) {
    if (is_object(top.args[i])) {
      const ObjectInit init{
          .kind = ObjectInit::Kind::feed, .constant = {}, .feed = static_cast<std::int32_t>(i)};
      set_location(top.args[i], new_object(type(top.args[i]).dtype, init));
      owned_[top.args[i].index] = true;
      continue;
    }
    Location feed;
    feed.spot.slot = new_slot({SlotInit::Kind::feed, 0, nullptr, static_cast<std::int32_t>(i)});
    feed.spot.layout = contiguous_layout(out_->feed_shapes[i]);
    feed.spot.dtype = type(top.args[i]).dtype;
    set_location(top.args[i], feed);
  }
  for (std::size_t i = 0; i < top.yields.size(); ++i) {
    const tensor::Type& result = type(top.yields[i]);
    BoundResult bound;
    bound.dtype = result.dtype;
    if (result.is_static() && !is_object(top.yields[i])) {
      bound.shape = result.shape();
      Location spot;
      spot.spot.slot = new_slot({SlotInit::Kind::result, 0, nullptr, static_cast<std::int32_t>(i)});
      spot.spot.layout = contiguous_layout(bound.shape);
      spot.spot.dtype = result.dtype;
      bound.source = spot.spot;
      out_->result_bytes = saturating_sum(out_->result_bytes, account_for(top.yields[i]));
      want_source(module_.top(), top.yields[i], spot);
    }
    out_->results.push_back(bound);
  }
}

Expected<void> Binder::walk() {
  frames_.push_back({.region = module_.top()});
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    const ir::Region& region = module_.region(frame.region);
    const std::vector<ir::NodeId>& nodes = frame.order.empty() ? region.nodes : frame.order;
    if (frame.next < nodes.size() && !frame.faulty) {
      const bool certain = frame.certain;
      if (Expected<void> bound = bind_node(nodes[frame.next++]); !bound) {
        if (certain) return bound;
        give_up_region(std::move(bound).error());
      }
      continue;
    }
    Frame done = std::move(frame);
    frames_.pop_back();
    SCANLOOM_CHECK_OK(finish_region(done));
  }
  return {};
}

/// The side of a condition that only the run knows, or the body of a loop that may take no step,
/// may never run: neither may what is in it.
void Binder::push_frame(Frame frame) {
  frame.certain &= frames_.back().certain;
  frames_.push_back(std::move(frame));
}

/// Reaching this point of the region is the error.
void Binder::give_up_region(Error error) {
  out_->faults.push_back(std::move(error));
  emit(Op::fault, static_cast<std::uint32_t>(out_->faults.size() - 1));
  frames_.back().faulty = true;
}

Expected<void> Binder::finish_region(Frame& frame) {
  switch (frame.side) {
    case Side::top:
      return finish_top();
    case Side::loop_body:
      return finish_loop(frame);
    case Side::then_side:
      finish_then_side(frame);
      return {};
    case Side::else_side:
    case Side::only_side:
      finish_side(frame);
      return {};
  }
  return {};
}

Expected<void> Binder::bind_node(ir::NodeId id) {
  const ir::Node& node = module_.node(id);
  if (inference_.makes_constants(node) || is_made_in_blocks_[id.index]) return {};
  if (node.op == &ir::loop_op) return begin_loop(id);
  if (node.op == &ir::branch_op) return begin_branch(id);
  constexpr std::size_t kMaxOperands = std::numeric_limits<std::uint16_t>::max();
  if (node.inputs.size() > kMaxOperands || node.outputs.size() > kMaxOperands)
    return fail(Code::unsupported, "{}: {} operands and {} results, a node may have {}",
                module_.describe(id), node.inputs.size(), node.outputs.size(), kMaxOperands);
  if (touches_objects(node) || node.op->reference == nullptr) return bind_object(id);
  bool dynamic = false;
  for (const ir::ValueId output : node.outputs) dynamic |= !is_static(output);
  for (const ir::ValueId input : node.inputs)
    dynamic |= input.valid() && location(input).spot.is_dynamic();
  if (dynamic) return bind_dynamic(id);
  if (node.op->view != nullptr && bind_view(id)) return {};
  return bind_kernel(id);
}

Expected<void> Binder::finish_top() {
  const ir::Region& top = module_.region(module_.top());
  for (std::size_t i = 0; i < top.yields.size(); ++i) {
    BoundResult& result = out_->results[i];
    const Location source = location(top.yields[i]);
    if (!result.source.present()) {
      result.source = source.spot;
      touch(source);
    } else if (source.spot.slot != result.source.slot) {
      emit_copy(source, {result.source, {}}, module_.value(top.yields[i]).producer);
    }
  }
  emit(Op::end, 0);
  return {};
}

Expected<void> Binder::place_buffers() {
  SCANLOOM_CHECK_OK(arena_.place());
  for (SlotInit& slot : out_->slots)
    if (slot.kind == SlotInit::Kind::arena && slot.index != kNone)
      slot.offset = arena_.offset(slot.index);
  out_->arena_bytes = arena_.total_bytes();
  out_->slots[kScratchSlot].offset = arena_.total_bytes();
  return {};
}

Expected<std::shared_ptr<const Binding>> bind(std::shared_ptr<const Plan> plan,
                                              std::span<const tensor::Shape> feed_shapes,
                                              const MayGoOn& may_go_on) {
  return Binder(std::move(plan), feed_shapes, may_go_on).bind();
}

}  // namespace scanloom::plan
