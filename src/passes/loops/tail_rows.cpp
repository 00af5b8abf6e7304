#include "passes/loops/tail_rows.h"

#include <algorithm>
#include <limits>

#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "passes/analysis/body_kinds.h"
#include "passes/analysis/loop_facts.h"
#include "passes/rewrite/ports.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Builder;
using ir::Module;
using ir::Node;
using ir::Type;
using ir::ValueId;
using tensor::Tensor;

/// The maximum number of rows kept as states if rows are small, or all values of a step stay in
/// registers.
constexpr std::int64_t kMaxTailStates = 16;
/// The maximum number of rows that are states whatever their size, and the elements of a small row.
constexpr std::int64_t kMaxCopied = 2;
constexpr std::int64_t kSmallRow = 64;
/// Larger constants are made at run time.
constexpr std::int64_t kMaxConstantBytes = 1024;

ValueId yielded_row(const Module& module, ir::NodeId loop, std::size_t stacked) {
  const Node& node = module.node(loop);
  return module.region(node.regions[0]).yields[node.loop->first_stacked_yield() + stacked];
}

ValueId scalar_of(Builder& builder, std::int64_t number) {
  return builder.constant(Tensor::scalar(number));
}

}  // namespace

TailRows::TailRows(Module& module, ir::RegionId region, ir::NodeId loop, std::size_t stacked,
                   std::int64_t count)
    : module_(module),
      region_(region),
      loop_(loop),
      port_(module.node(loop).loop->stacked[stacked]),
      count_(count),
      row_(yielded_row(module, loop, stacked)),
      type_(module.value(row_).type) {
  const Node& node = module.node(loop);
  const auto known = known_steps(module, node);
  are_all_there_ = known ? *known >= count : count == 1 && surely_steps(module, node);
}

ValueId TailRows::argument_of(std::uint32_t port) const {
  const Node& node = module_.node(loop_);
  return module_.region(node.regions[0]).args[node.loop->captured + port];
}

/// Returns the initial value of a state that has the type of a row; invalid if there is none.
ValueId TailRows::value_like_a_row() const {
  const Node& node = module_.node(loop_);
  for (std::uint32_t i = 0; i < node.loop->carried; ++i) {
    const ValueId initial = node.inputs[node.loop->first_carried_input() + i];
    if (module_.value(initial).type == type_ && module_.value(argument_of(i)).type == type_)
      return initial;
  }
  return {};
}

bool TailRows::can_be_carried() const {
  return type_.is_static() ? type_.shape().checked_elements().has_value()
                           : value_like_a_row().valid();
}

TailRows::NewState TailRows::add_state(ValueId initial) {
  // Any value of the type serves as the next value until that is made.
  const ValueId last = add_carried(module_, loop_, initial, initial);
  const std::uint32_t port = module_.node(loop_).loop->carried - 1;
  return {argument_of(port), last, port};
}

void TailRows::set_next(const NewState& state, ValueId next) {
  const Node& node = module_.node(loop_);
  module_.region(node.regions[0]).yields[node.loop->first_carried_yield() + state.port] = next;
}

/// Zeros for one row, or for a tensor of `rows` rows: nothing reads their elements.
Expected<ValueId> TailRows::zeros(Builder& builder, std::optional<std::int64_t> rows) {
  ValueId shape;
  if (type_.is_static()) {
    tensor::Shape sizes = type_.shape();
    if (rows) sizes.insert(0, *rows);
    const auto elements = sizes.checked_elements();
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(type_.dtype));
    if (elements && *elements <= kMaxConstantBytes / bytes) {
      SCANLOOM_TRY(Tensor constant, Tensor::zeros(type_.dtype, sizes));
      return builder.constant(std::move(constant));
    }
    shape = list_of(builder, {sizes.begin(), sizes.end()});
  } else {
    const ValueId like = value_like_a_row();
    if (!rows) return like;
    SCANLOOM_TRY(shape, builder.op(ops::shape_op, {like}, {{"start", 0}}));
    SCANLOOM_TRY(shape,
                 builder.op(ops::concat_op, {list_of(builder, {*rows}), shape}, {{"axis", 0}}));
  }
  SCANLOOM_TRY(Tensor zero, Tensor::zeros(type_.dtype, {}));
  return builder.op(ops::expand_op, {builder.constant(std::move(zero)), shape});
}

/// Returns the carried value whose next value is `value`. further: its argument must be the row of
/// the step before.
std::optional<std::uint32_t> TailRows::port_that_hands_on(ValueId value, bool further) const {
  const Node& node = module_.node(loop_);
  const std::vector<ValueId>& yields = module_.region(node.regions[0]).yields;
  for (std::uint32_t i = 0; i < node.loop->carried; ++i)
    if (yields[node.loop->first_carried_yield() + i] == value &&
        (!further || module_.value(argument_of(i)).type == type_))
      return i;
  return std::nullopt;
}

bool TailRows::belong_into_ring() const {
  if (count_ <= kMaxCopied) return false;
  if (count_ > kMaxTailStates) return true;
  const bool is_small = type_.is_static() && type_.shape().elements() <= kSmallRow;
  return !is_small && !lanes_of(module_, module_.node(loop_).regions[0]);
}

Expected<void> TailRows::carry(bool counts) {
  if (counts || !are_all_there_) SCANLOOM_CHECK_OK(count_steps());
  return belong_into_ring() ? carry_ring() : carry_states();
}

Expected<void> TailRows::carry_states() {
  Builder before(module_, region_);
  before.set_location(module_.node(loop_).location);
  ValueId initial, value = row_;
  for (std::int64_t back = 1; back <= count_; ++back) {
    auto port = port_that_hands_on(value, back < count_);
    if (!port) {
      if (!initial.valid()) {
        SCANLOOM_TRY(initial, zeros(before, std::nullopt));
      }
      const NewState state = add_state(initial);
      set_next(state, value);
      port = state.port;
    }
    states_.push_back(module_.node(loop_).outputs[*port]);
    value = argument_of(*port);
  }
  return {};
}

Expected<void> TailRows::carry_ring() {
  Builder before(module_, region_);
  before.set_location(module_.node(loop_).location);
  SCANLOOM_TRY(const ValueId empty, zeros(before, count_));
  const NewState ring = add_state(empty), oldest = add_state(scalar_of(before, 0));
  ring_ = ring.last;
  oldest_ = oldest.last;
  Builder body(module_, module_.node(loop_).regions[0]);
  body.set_location(module_.node(loop_).location);
  SCANLOOM_TRY(const ValueId tuple, body.op(ops::unsqueeze_op, {oldest.argument},
                                            {{"axes", std::vector<std::int64_t>{0}}}));
  SCANLOOM_TRY(const ValueId written,
               body.op(ops::scatter_nd_op, {ring.argument, tuple, row_}, {{"reduction", "none"}}));
  SCANLOOM_TRY(const ValueId after, body.op(ops::add_op, {oldest.argument, scalar_of(body, 1)}));
  SCANLOOM_TRY(const ValueId inside, body.op(ops::less_op, {after, scalar_of(body, count_)}));
  SCANLOOM_TRY(const ValueId next, body.op(ops::where_op, {inside, after, scalar_of(body, 0)}));
  set_next(ring, written);
  set_next(oldest, next);
  return {};
}

/// Sets steps_: the trip count if nothing else ends the loop, the size of what it scans if that
/// determines the steps, or a counter.
Expected<void> TailRows::count_steps() {
  const Node& node = module_.node(loop_);
  const ir::LoopPorts& ports = *node.loop;
  Builder before(module_, region_);
  before.set_location(node.location);
  const bool has_count = ports.has_trip_count && !counts_without_end(module_, node);
  if (runs_to_the_end(module_, node) && has_count) {
    SCANLOOM_TRY(
        const ValueId count,
        before.op(ops::reshape_op, {node.inputs[0], list_of(before, {1})}, {{"allowzero", 0}}));
    SCANLOOM_TRY(steps_, before.op(ops::max_op, {count, scalar_of(before, 0)}));
    return {};
  }
  const bool is_whole =
      !ports.scanned.empty() && ports.scanned[0].part == 1 &&
      (ports.scanned[0].start == 0 ? ports.scanned[0].stride == 1
                                   : ports.scanned[0].start == -1 && ports.scanned[0].stride == -1);
  if (runs_to_the_end(module_, node) && is_whole) {
    const std::int64_t axis = ports.scanned[0].axis;
    SCANLOOM_TRY(steps_, before.op(ops::shape_op, {node.inputs[ports.first_scanned_input()]},
                                   {{"start", axis}, {"end", axis + 1}}));
    return {};
  }
  const NewState counter = add_state(list_of(before, {0}));
  Builder body(module_, module_.node(loop_).regions[0]);
  body.set_location(module_.node(loop_).location);
  SCANLOOM_TRY(const ValueId next, body.op(ops::add_op, {counter.argument, list_of(body, {1})}));
  set_next(counter, next);
  steps_ = counter.last;
  return {};
}

std::optional<ValueId> TailRows::row(std::int64_t back) const {
  if (states_.empty()) return std::nullopt;
  return states_[static_cast<std::size_t>(back - 1)];
}

Expected<ValueId> TailRows::together() {
  if (together_.valid()) return together_;
  Builder after_loop(module_, region_);
  after_loop.set_location(module_.node(loop_).location);
  SCANLOOM_TRY(const ValueId rows,
               ring_.valid() ? ordered_ring(after_loop) : joined_states(after_loop));
  SCANLOOM_TRY(together_, rows_that_are_there(after_loop, rows));
  return together_;
}

Expected<ValueId> TailRows::sizes_for(ir::NodeId id) {
  const ir::Node reader = module_.node(id);  // by value: adding nodes may move it
  Builder after_loop(module_, region_);
  after_loop.set_location(reader.location);
  const int rank = module_.value(reader.inputs[0]).type.rank();
  if (reader.op == &ops::dim_op) {
    const std::int64_t axis = attr_of(reader, "axis").integer();
    if (tensor::normalise_axis(axis, rank) == port_.axis)
      return after_loop.op(ops::squeeze_op, {steps_}, {{"axes", std::vector<std::int64_t>{0}}});
    SCANLOOM_TRY(const ValueId rows, together());
    return after_loop.op(ops::dim_op, {rows}, {{"axis", axis}});
  }
  const auto bound = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const ir::Attr& end = attr_of(reader, "end");
  const std::int64_t first = bound(attr_of(reader, "start").integer());
  const std::int64_t last = end.present() ? bound(end.integer()) : rank;
  std::vector<ValueId> parts;
  const auto add = [&](std::int64_t from, std::int64_t to) -> Expected<void> {
    if (from >= to) return {};
    SCANLOOM_TRY(const ValueId rows, together());
    SCANLOOM_TRY(const ValueId part,
                 after_loop.op(ops::shape_op, {rows}, {{"start", from}, {"end", to}}));
    parts.push_back(part);
    return {};
  };
  const bool counts = first <= port_.axis && port_.axis < last;
  SCANLOOM_CHECK_OK(add(first, counts ? port_.axis : last));
  if (counts) parts.push_back(steps_);
  if (counts) SCANLOOM_CHECK_OK(add(port_.axis + 1, last));
  if (parts.empty()) return list_of(after_loop, {});
  if (parts.size() == 1) return parts[0];
  return after_loop.op(ops::concat_op, std::move(parts), {{"axis", 0}});
}

/// Returns the ring, starting at the oldest row (or backwards from the newest one), with the rows
/// along their axis.
Expected<ValueId> TailRows::ordered_ring(Builder& builder) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(count_));
  for (std::int64_t i = 0; i < count_; ++i)
    offsets[static_cast<std::size_t>(i)] = port_.reverse ? count_ - 1 - i : i;
  SCANLOOM_TRY(const ValueId ahead,
               builder.op(ops::add_op, {oldest_, list_of(builder, std::move(offsets))}));
  SCANLOOM_TRY(const ValueId locations,
               builder.op(ops::mod_op, {ahead, scalar_of(builder, count_)}, {{"fmod", 0}}));
  SCANLOOM_TRY(const ValueId rows, builder.op(ops::gather_op, {ring_, locations}, {{"axis", 0}}));
  SCANLOOM_TRY(const ValueId moved,
               ops::with_steps_along(builder, ir::Lifted{rows, 0}, static_cast<int>(port_.axis)));
  if (port_.insert) return moved;
  return builder.op(ops::squeeze_op, {moved},
                    {{"axes", std::vector<std::int64_t>{port_.axis + 1}}});
}

Expected<ValueId> TailRows::joined_states(Builder& builder) {
  std::vector<ValueId> rows;
  for (ValueId state : states_) {
    if (port_.insert) {
      SCANLOOM_TRY(state, builder.op(ops::unsqueeze_op, {state},
                                     {{"axes", std::vector<std::int64_t>{port_.axis}}}));
    }
    rows.push_back(state);
  }
  if (rows.size() == 1) return rows[0];
  if (!port_.reverse) std::ranges::reverse(rows);
  return builder.op(ops::concat_op, std::move(rows), {{"axis", port_.axis}});
}

/// Drops the rows that no step has made: those of the steps before the first one.
Expected<ValueId> TailRows::rows_that_are_there(Builder& builder, ValueId rows) {
  if (are_all_there_) return rows;
  SCANLOOM_TRY(const ValueId there, builder.op(ops::min_op, {steps_, scalar_of(builder, count_)}));
  ValueId start = list_of(builder, {0}), end = there;
  if (!port_.reverse) {
    SCANLOOM_TRY(start, builder.op(ops::sub_op, {scalar_of(builder, count_), there}));
    end = list_of(builder, {std::numeric_limits<std::int64_t>::max()});
  }
  return builder.op(ops::slice_op, {rows, start, end, list_of(builder, {port_.axis})});
}

}  // namespace scanloom::passes
