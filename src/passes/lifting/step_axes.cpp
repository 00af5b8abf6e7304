#include "passes/lifting/step_axes.h"

#include <algorithm>
#include <string>

#include "ir/walk.h"
#include "opmath/contraction.h"
#include "ops/ops.h"
#include "passes/analysis/over_time.h"
#include "passes/lifting/flow_of_results.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::across;
using ir::Dim;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::StepSite;
using ir::Type;
using ir::ValueId;
using Kind = StepFlow::Kind;

/// Whether the node is a product of two values along the steps that sums over the steps.
bool sums_over_steps(const StepSite& site) {
  if (site.node.op != &ops::contract_op || !site.along(0) || !site.along(1)) return false;
  const auto einsum = tensor::parse_einsum(attr_of(site.node, "spec").text(), site.type(0).rank(),
                                           site.type(1).rank());
  if (!einsum) return false;
  const std::uint8_t label = einsum->a.labels[static_cast<std::size_t>(site.axis(0))];
  return einsum->out.find(label) < 0 && einsum->b.find(label) == site.axis(1);
}

/// Whether the node picks what belongs to the last step, by counting from the end.
bool is_last_step(const StepSite& site) {
  if (site.node.op != &ops::gather_op || !site.along(0) || site.along(1)) return false;
  const std::int64_t axis = attr_of(site.node, "axis").integer();
  const auto indices = site.integers(1);
  return (axis < 0 ? axis + site.type(0).rank() : axis) == site.axis(0) &&
         site.flow(0).each == Dim(1) && indices && *indices == std::vector<std::int64_t>{-1};
}

/// Walks the top region in order.
class Follower {
 public:
  Follower(const Module& module, Dim steps)
      : module_(module), steps_(steps), dims_(module.dims), uses_(ir::count_uses(module)) {
    axes_.flows.resize(module.value_count());
  }

  Expected<StepAxes> follow() {
    SCANLOOM_CHECK_OK(check_draws());
    for (const ValueId arg : module_.region(module_.top()).args) {
      const Type& type = module_.value(arg).type;
      const std::vector<Dim>& dims = type.dims;
      const auto count = std::ranges::count(dims, steps_);
      if (count > 0 && !type.is_tensor())
        return fail(Code::unsupported, "the items of input {} have the size of the steps",
                    module_.describe(arg));
      if (count > 1)
        return fail(Code::unsupported, "input {} has the size of the steps on {} axes",
                    module_.describe(arg), count);
      if (count == 1)
        set(arg, {Kind::along, static_cast<int>(std::ranges::find(dims, steps_) - dims.begin())});
    }
    for (const NodeId id : module_.region(module_.top()).nodes) {
      Expected<void> visited = visit(id);
      if (!visited) {
        Error error = fail(Code::unsupported, "{} computes across the steps: {}",
                           module_.describe(id), visited.error().message());
        return error.note("a stream sees the steps in pieces");
      }
    }
    for (const ValueId yield : module_.region(module_.top()).yields) {
      if (kind(yield) == Kind::count || kind(yield) == Kind::sizes)
        return fail(Code::unsupported, "result {} is the number of steps", module_.describe(yield));
      if (kind(yield) == Kind::sum)
        return fail(Code::unsupported, "result {} is a sum over the steps",
                    module_.describe(yield));
    }
    return std::move(axes_);
  }

 private:
  /// Each piece is a run of its own, with other random samples than the whole.
  [[nodiscard]] Expected<void> check_draws() const {
    for (const ir::RegionId region : ir::regions_outer_first(module_, module_.top()))
      for (const NodeId id : module_.region(region).nodes)
        if (module_.node(id).op->effects == ir::Effects::random)
          return fail(Code::unsupported, "{} draws other numbers for each piece of a stream",
                      module_.describe(id));
    return {};
  }

  [[nodiscard]] StepSite site_of(const Node& node) {
    return {module_, node, axes_.flows, uses_, dims_, steps_};
  }
  void set(ValueId value, StepFlow flow) { axes_.flows[value.index] = flow; }
  void set_all(const Node& node, StepFlow flow) {
    for (const ValueId output : node.outputs) set(output, flow);
  }
  [[nodiscard]] Kind kind(ValueId id) const {
    return id.valid() ? axes_.flows[id.index].kind : Kind::same;
  }
  [[nodiscard]] bool any(const Node& node, Kind wanted) const {
    return std::ranges::any_of(node.inputs, [&](ValueId id) { return kind(id) == wanted; });
  }

  /// Handles values without steps first, then counts of steps, then values along the steps.
  Expected<void> visit(NodeId id) {
    const Node& node = module_.node(id);
    if (any(node, Kind::sum)) return visit_sum(id);
    const bool along = any(node, Kind::along);
    const bool counts = any(node, Kind::count) || any(node, Kind::sizes);
    if (!along && !counts) {
      SCANLOOM_CHECK_OK(check_other_axes(node));
      if (any(node, Kind::last)) set_all(node, {Kind::last, 0});
      return {};
    }
    if (node.op == &ir::loop_op) return visit_loop(id);
    if (node.op == &ops::dim_op || node.op == &ops::shape_op || counts) return visit_count(node);
    if (any(node, Kind::last)) return across("it needs the final state of a loop over them");
    if (node.op->layer_states > 0) return visit_layer(id);
    return visit_along(node);
  }

  /// A loop or layer along another open axis would start again with each piece, and a user may feed
  /// pieces along that axis too.
  Expected<void> check_other_axes(const Node& node) const {
    const auto is_open = [&](ValueId value, std::int64_t axis) {
      const Type& type = module_.value(value).type;
      return !type.ranked || axis >= type.rank() ||
             !type.dims[static_cast<std::size_t>(axis)].is_constant();
    };
    bool open = node.op->layer_states > 0 &&
                is_open(node.inputs[0], attr_of(node, "layout").integer() == 1 ? 1 : 0);
    if (node.op == &ir::loop_op)
      for (std::size_t i = 0; i < node.loop->scanned.size(); ++i)
        open |=
            is_open(node.inputs[node.loop->first_scanned_input() + i], node.loop->scanned[i].axis);
    if (open) return across("it walks along another axis whose size is open");
    if (node.op != &ir::branch_op) return {};
    for (const ir::RegionId side : node.regions)
      for (const ir::RegionId region : ir::regions_outer_first(module_, side))
        for (const NodeId inner : module_.region(region).nodes)
          if (module_.node(inner).op != &ir::branch_op)
            SCANLOOM_CHECK_OK(check_other_axes(module_.node(inner)));
    return {};
  }

  /// Sizes of values along the steps, and values computed from them, until one counts the steps of
  /// a loop or becomes the shape of another value.
  Expected<void> visit_count(const Node& node) {
    const StepSite site = site_of(node);
    if (site.along(0) && (node.op == &ops::dim_op || node.op == &ops::shape_op))
      return visit_sizes(site);
    if (node.op == &ops::concat_op) return visit_list(site);
    const std::size_t shape = node.op == &ops::constant_of_shape_op ? 0 : 1;
    const bool shapes = shape == 0 || node.op == &ops::expand_op || node.op == &ops::reshape_op;
    if (shapes && site.has(shape) && site.flow(shape).kind == Kind::sizes)
      return visit_shaped(site, shape);
    const bool all_count = std::ranges::all_of(
        node.inputs, [&](ValueId input) { return !input.valid() || kind(input) == Kind::count; });
    const bool first_counts = kind(node.inputs[0]) == Kind::count;
    const bool reshapes = node.op == &ops::squeeze_op || node.op == &ops::unsqueeze_op ||
                          node.op == &ops::identity_op;
    if ((reshapes && first_counts) || (node.op == &ops::check_equal_op && all_count)) {
      set_all(node, {Kind::count, 0});
      return {};
    }
    if (kind(node.inputs[0]) != Kind::sizes) return across("it reads their number");
    // A list that holds only the count.
    if (reshapes && site.flow(0).axis == 0 && site.type(0).is_static() &&
        site.type(0).shape().elements() == 1) {
      set_all(node, {Kind::count, 0});
      return {};
    }
    const auto picked = elements_picked(node);
    if (!picked) return across("it reads their number");
    const int count = axes_.flows[node.inputs[0].index].axis;
    if (std::ranges::find(*picked, count) == picked->end()) return {};
    if (picked->size() > 1) return across("it reads their number");
    set_all(node, {Kind::count, 0});
    return {};
  }

  /// One size of a value along the steps, or a list of some of its sizes.
  Expected<void> visit_sizes(const StepSite& site) {
    const int rank = site.type(0).rank();
    const auto axis_of = [&](std::string_view name) {
      const ir::Attr& attr = attr_of(site.node, name);
      const std::int64_t axis = attr.present() ? attr.integer() : rank;
      return static_cast<int>(std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank));
    };
    const bool list = site.node.op == &ops::shape_op;
    const int first = axis_of(list ? "start" : "axis");
    const int last = list ? axis_of("end") : first + 1;
    if (site.axis(0) < first || site.axis(0) >= last) return {};
    if (site.flow(0).each != Dim(1)) return across("it reads their number");
    set_all(site.node, {list ? Kind::sizes : Kind::count, site.axis(0) - first});
    return {};
  }

  /// A list of sizes that contains the number of steps once.
  Expected<void> visit_list(const StepSite& site) {
    std::optional<int> at;
    int length = 0;
    for (std::size_t i = 0; i < site.node.inputs.size(); ++i) {
      const Type& part = site.type(i);
      const Kind own = site.flow(i).kind;
      if (at ? own != Kind::same : own == Kind::along || own == Kind::last)
        return across("it reads their number");
      if (!part.is_static() || part.rank() != 1) return across("it reads their number");
      if (own != Kind::same) at = length + site.axis(i);
      length += static_cast<int>(part.shape().elements());
    }
    set_all(site.node, {Kind::sizes, *at});
    return {};
  }

  /// A node whose result has the shape given by a list: a reshape, copies, or one number.
  Expected<void> visit_shaped(const StepSite& site, std::size_t shape) {
    const Node& node = site.node;
    if (shape > 0 && site.along(0)) return visit_along(node);
    const Type& list = site.type(shape);
    if (node.op == &ops::reshape_op || !list.is_static() || !site.result_type().ranked ||
        (shape > 0 && (site.flow(0).kind != Kind::same || !site.type(0).ranked)))
      return across("it reads their number");
    const int trailing = static_cast<int>(list.shape().elements()) - 1 - site.axis(shape);
    const int own = shape > 0 ? site.type(0).rank() - 1 - trailing : -1;
    if (own >= 0 && site.type(0).dims[static_cast<std::size_t>(own)] != Dim(1))
      return across("one of its operands has another size there");
    set_all(node, {Kind::along, site.result_type().rank() - 1 - trailing});
    return {};
  }

  /// Returns which elements of the list of sizes the node takes; nullopt if they are not known.
  [[nodiscard]] std::optional<std::vector<int>> elements_picked(const Node& node) const {
    const Type& list = module_.value(node.inputs[0]).type;
    if (!list.is_static()) return std::nullopt;
    const std::int64_t size = list.shape().elements();
    const auto constant = [&](std::size_t i) -> std::optional<std::vector<std::int64_t>> {
      if (i >= node.inputs.size() || !node.inputs[i].valid()) return std::nullopt;
      const tensor::Tensor* const value = constant_of(module_, node.inputs[i]);
      return value != nullptr ? tensor::to_integers(*value) : std::nullopt;
    };
    const auto in_list = [&](std::int64_t at) { return at < 0 ? at + size : at; };
    std::vector<int> picked;
    if (node.op == &ops::gather_op) {
      const auto indices = constant(1);
      if (!indices) return std::nullopt;
      for (const std::int64_t index : *indices) picked.push_back(static_cast<int>(in_list(index)));
      return picked;
    }
    const auto starts = constant(1), ends = constant(2);
    if (node.op != &ops::slice_op || !starts || !ends || starts->size() != 1 || ends->size() != 1)
      return std::nullopt;
    const auto steps = constant(4);
    if (node.inputs.size() > 4 && node.inputs[4].valid() && (!steps || steps->front() != 1))
      return std::nullopt;
    const std::int64_t first = std::clamp<std::int64_t>(in_list(starts->front()), 0, size);
    const std::int64_t last = std::clamp<std::int64_t>(in_list(ends->front()), first, size);
    for (std::int64_t at = first; at < last; ++at) picked.push_back(static_cast<int>(at));
    return picked;
  }

  Expected<void> visit_along(const Node& node) {
    const auto is_unranked = [&](ValueId value) {
      return value.valid() && !module_.value(value).type.ranked;
    };
    if (std::ranges::any_of(node.inputs, is_unranked) ||
        std::ranges::any_of(node.outputs, is_unranked))
      return across("the number of axes of its operands or results is not known");
    if (sums_over_steps(site_of(node))) {
      set(node.outputs[0], {Kind::sum, 0});
      return {};
    }
    if (is_last_step(site_of(node))) {
      set(node.outputs[0], {Kind::last, 0});
      return {};
    }
    SCANLOOM_TRY(const StepFlow flow, flow_of_results(site_of(node)));
    set_all(node, flow);
    return {};
  }

  /// What is added to a sum over the steps is carried from piece to piece.
  Expected<void> visit_sum(NodeId id) {
    const Node& node = module_.node(id);
    const std::size_t first = kind(node.inputs[0]) == Kind::sum ? 1 : 0;
    const Type& type = module_.value(node.outputs[0]).type;
    if (node.op != &ops::add_op || kind(node.inputs[first]) != Kind::same ||
        kind(node.inputs[1 - first]) != Kind::sum || module_.value(node.inputs[first]).type != type)
      return across("it reads a sum over them");
    axes_.sites.push_back({id, first, 0, type});
    set(node.outputs[0], {Kind::last, 0});
    return {};
  }

  Expected<void> visit_loop(NodeId id) {
    const Node& node = module_.node(id);
    const ir::LoopPorts& ports = *node.loop;
    if (!takes_all_steps(module_, id)) return across("a condition may end it early");
    if (ports.has_trip_count && kind(node.inputs[0]) != Kind::count)
      return across("it takes its own number of steps");
    const ir::Region& body = module_.region(node.regions[0]);
    for (std::uint32_t i = 0; i < ports.captured + ports.carried; ++i) {
      // Captured but no longer read, as slice_by_counter leaves it.
      if (i < ports.captured && uses_[body.args[i].index] == 0) continue;
      const Kind read = kind(node.inputs[ports.first_captured_input() + i]);
      if (read == Kind::along) return across("its body reads all of them in each step");
      if (read == Kind::count || read == Kind::sizes) return across("its body reads their number");
      if (read == Kind::last) return across("it needs the final state of another loop over them");
    }
    for (std::size_t i = 0; i < ports.scanned.size(); ++i) {
      const ir::ScannedPort& port = ports.scanned[i];
      const ValueId outer = node.inputs[ports.first_scanned_input() + i];
      const StepFlow& flow = axes_.flows[outer.index];
      if (flow.kind != Kind::along || flow.axis != port.axis)
        return across(fmt::format("it walks along another axis of {}", module_.describe(outer)));
      if (port.start != 0 || port.stride != 1 || port.part != 1 || flow.each != Dim(1))
        return across(port.stride < 0 ? "it walks backwards" : "it does not take one at a time");
    }
    for (std::uint32_t i = 0; i < ports.carried; ++i) {
      axes_.sites.push_back({id, ports.first_carried_input() + i, i,
                             module_.value(body.args[ports.captured + i]).type});
      set(node.outputs[i], {Kind::last, 0});
    }
    for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
      const ir::StackedPort& port = ports.stacked[i];
      if (port.reverse) return across("its rows are in reverse order");
      SCANLOOM_TRY(const Dim each, elements_of_row(node, i));
      set(node.outputs[ports.carried + i], {Kind::along, static_cast<int>(port.axis), each});
    }
    return {};
  }

  /// Returns how many elements each step adds to the result along the axis of the rows.
  [[nodiscard]] Expected<Dim> elements_of_row(const Node& loop, std::size_t stacked) const {
    const ir::LoopPorts& ports = *loop.loop;
    const ir::StackedPort& port = ports.stacked[stacked];
    if (port.insert) return Dim(1);
    const ir::Region& body = module_.region(loop.regions[0]);
    const Type& row = module_.value(body.yields[ports.first_stacked_yield() + stacked]).type;
    if (!row.ranked || port.axis >= row.rank() ||
        !row.dims[static_cast<std::size_t>(port.axis)].is_constant())
      return across("it concatenates rows whose size is not known");
    return row.dims[static_cast<std::size_t>(port.axis)];
  }

  /// An LSTM, GRU or RNN.
  Expected<void> visit_layer(NodeId id) {
    constexpr std::size_t kX = 0, kLengths = 4, kInitialH = 5;
    const Node& node = module_.node(id);
    const int time = attr_of(node, "layout").integer() == 1 ? 1 : 0;
    const StepSite site = site_of(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (site.along(i) != (i == kX) && site.has(i))
        return across("an operand other than the sequence has them");
    if (site.flow(kX).axis != time || site.flow(kX).each != Dim(1))
      return across("it walks along another axis");
    if (attr_of(node, "direction").text() != "forward") return across("it walks backwards");
    if (site.has(kLengths)) return across("its sequences have their own lengths");
    set(node.outputs[0], {Kind::along, time});
    const std::size_t states = node.op->layer_states;
    for (std::size_t i = 1 + states; i < node.outputs.size(); ++i)
      if (uses_[node.outputs[i].index] > 0) return across("it returns its gates");
    for (std::size_t i = 0; i < states; ++i) {
      set(node.outputs[1 + i], {Kind::last, 0});
      axes_.sites.push_back({id, kInitialH + i, 1 + i, module_.value(node.outputs[1 + i]).type});
    }
    return {};
  }

  const Module& module_;
  const Dim steps_;
  tensor::DimTable dims_;
  const std::vector<std::uint32_t> uses_;  ///< by ValueId
  StepAxes axes_;
};

}  // namespace

Expected<StepAxes> follow_steps(const Module& module, Dim steps) {
  return Follower(module, steps).follow();
}

}  // namespace scanloom::passes
