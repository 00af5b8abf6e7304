#include "passes/step_axes.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "ir/walk.h"
#include "ops/ops.h"
#include "passes/over_time.h"
#include "passes/rewriter.h"
#include "tensor/contraction.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;
using Kind = StepFlow::Kind;

/// A node of the top region with the flows of its operands, at least one of them along the steps.
struct Site {
  const Module& module;
  const Node& node;
  const std::vector<StepFlow>& flows;

  [[nodiscard]] bool has(std::size_t i) const {
    return i < node.inputs.size() && node.inputs[i].valid();
  }
  [[nodiscard]] const StepFlow& flow(std::size_t i) const { return flows[node.inputs[i].index]; }
  [[nodiscard]] bool along(std::size_t i) const { return has(i) && flow(i).kind == Kind::along; }
  [[nodiscard]] const Type& type(std::size_t i) const { return module.value(node.inputs[i]).type; }
  [[nodiscard]] int result_rank() const { return module.value(node.outputs[0]).type.rank(); }
};

Error across(std::string reason) { return fail(Code::unsupported, "{}", reason); }

/// Axes of operand 0 that an attribute or a constant operand names; nullopt where they are unknown.
std::optional<std::vector<int>> axes_of(const Site& s, std::size_t operand) {
  std::vector<std::int64_t> named;
  const int attribute = s.node.op->attr_index("axes");
  if (s.has(operand)) {
    const tensor::Tensor* constant = constant_of(s.module, s.node.inputs[operand]);
    const auto integers = constant != nullptr ? tensor::to_integers(*constant) : std::nullopt;
    if (!integers) return std::nullopt;
    named = *integers;
  } else if (attribute >= 0 && s.node.attrs[static_cast<std::size_t>(attribute)].present()) {
    named = s.node.attrs[static_cast<std::size_t>(attribute)].integers();
  } else {
    return std::nullopt;
  }
  std::vector<int> axes;
  for (const std::int64_t axis : named) {
    const auto normal = tensor::normalise_axis(axis, s.type(0).rank());
    if (!normal) return std::nullopt;
    axes.push_back(*normal);
  }
  return axes;
}

std::optional<int> axis_of(const Site& s, int rank) {
  return tensor::normalise_axis(attr_of(s.node, "axis").integer(), rank);
}

bool contains(const std::vector<int>& axes, int axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

// --- rules: the axis of the steps in every result. Errors say what is wrong, not where.

/// Broadcasting counts axes from the last one.
Expected<int> pointwise(const Site& s) {
  int behind = -1;
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i) {
    if (!s.along(i)) continue;
    const int here = s.type(i).rank() - 1 - s.flow(i).axis;
    if (behind >= 0 && here != behind) return across("its operands have the steps on other axes");
    behind = here;
  }
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i) {
    if (!s.has(i) || s.along(i)) continue;
    const int axis = s.type(i).rank() - 1 - behind;
    if (axis >= 0 && s.type(i).dims[static_cast<std::size_t>(axis)] != Dim(1))
      return across("one of its operands has a size of its own there");
  }
  return s.result_rank() - 1 - behind;
}

Expected<int> contract(const Site& s) {
  SCANLOOM_TRY(
      const tensor::Einsum einsum,
      tensor::parse_einsum(attr_of(s.node, "spec").text(), s.type(0).rank(), s.type(1).rank()));
  int result = -1;
  for (const std::size_t i : {0, 1}) {
    if (!s.along(i)) continue;
    const tensor::Subscripts& own = i == 0 ? einsum.a : einsum.b;
    const tensor::Subscripts& other = i == 0 ? einsum.b : einsum.a;
    const std::uint8_t label = own.labels[static_cast<std::size_t>(s.flow(i).axis)];
    const int to = einsum.out.find(label);
    if (to < 0) return across("it sums over them");
    const int there = other.find(label);
    const bool fits = there < 0 || (s.along(1 - i) && s.flow(1 - i).axis == there);
    if (!fits || (result >= 0 && result != to))
      return across("its operands have the steps on other axes");
    result = to;
  }
  return result;
}

/// Whether it is a product of two values along the steps that sums over these.
bool sums_over_steps(const Site& s) {
  if (s.node.op != &ops::contract_op || !s.along(0) || !s.along(1)) return false;
  const auto einsum =
      tensor::parse_einsum(attr_of(s.node, "spec").text(), s.type(0).rank(), s.type(1).rank());
  if (!einsum) return false;
  const std::uint8_t label = einsum->a.labels[static_cast<std::size_t>(s.flow(0).axis)];
  return einsum->out.find(label) < 0 && einsum->b.find(label) == s.flow(1).axis;
}

/// Where the steps are when those axes, which are others, have gone.
int without(const std::vector<int>& axes, int steps) {
  return steps -
         static_cast<int>(std::ranges::count_if(axes, [&](int axis) { return axis < steps; }));
}

Expected<int> reduce(const Site& s) {
  const auto axes = axes_of(s, 1);
  if (!axes || axes->empty() || contains(*axes, s.flow(0).axis))
    return across("it reduces over them");
  if (attr_of(s.node, "keepdims").integer() != 0) return s.flow(0).axis;
  return without(*axes, s.flow(0).axis);
}

Expected<int> transpose(const Site& s) {
  const auto order = order_of(s.module, s.node);
  if (!order) return across("its order of axes is not known");
  return static_cast<int>(std::ranges::find(*order, s.flow(0).axis) - order->begin());
}

Expected<int> squeeze(const Site& s) {
  const auto axes = axes_of(s, 1);
  if (!axes || contains(*axes, s.flow(0).axis)) return across("it may take their axis away");
  return without(*axes, s.flow(0).axis);
}

Expected<int> unsqueeze(const Site& s) {
  if (s.has(1)) return across("its axes are not known");
  std::vector<int> added;
  for (const std::int64_t axis : attr_of(s.node, "axes").integers())
    added.push_back(tensor::normalise_axis(axis, s.result_rank()).value_or(0));
  int result = 0;
  for (int left = s.flow(0).axis; contains(added, result) || left > 0; ++result)
    if (!contains(added, result)) --left;
  return result;
}

Expected<int> concat(const Site& s) {
  const auto axis = axis_of(s, s.type(0).rank());
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i)
    if (!s.along(i) || s.flow(i).axis != s.flow(0).axis)
      return across("its operands do not all have the steps on one axis");
  if (axis == s.flow(0).axis) return across("it puts them behind one another");
  return s.flow(0).axis;
}

/// Operators that work along one axis.
Expected<int> along_axis(const Site& s) {
  if (axis_of(s, s.type(0).rank()) == s.flow(0).axis) return across("it works along their axis");
  return s.flow(0).axis;
}

Expected<int> cumulate(const Site& s) {
  const tensor::Tensor* constant = s.has(1) ? constant_of(s.module, s.node.inputs[1]) : nullptr;
  const auto axis = constant != nullptr ? tensor::to_integers(*constant) : std::nullopt;
  if (!axis || axis->size() != 1 ||
      tensor::normalise_axis(axis->front(), s.type(0).rank()) == s.flow(0).axis)
    return across("it works along their axis");
  return s.flow(0).axis;
}

Expected<int> arg_extreme(const Site& s) {
  SCANLOOM_TRY(const int axis, along_axis(s));
  if (attr_of(s.node, "keepdims").integer() != 0) return axis;
  return *axis_of(s, s.type(0).rank()) < axis ? axis - 1 : axis;
}

Expected<int> slice(const Site& s) {
  std::vector<int> axes;
  if (s.has(3)) {
    const auto named = axes_of(s, 3);
    if (!named) return across("its axes are not known");
    axes = *named;
  } else {
    const Type& starts = s.type(1);
    if (!starts.is_static()) return across("its axes are not known");
    for (std::int64_t axis = 0; axis < starts.shape().elements(); ++axis)
      axes.push_back(static_cast<int>(axis));
  }
  if (contains(axes, s.flow(0).axis)) return across("it takes some of them");
  return s.flow(0).axis;
}

Expected<int> gather(const Site& s) {
  const auto axis = axis_of(s, s.type(0).rank());
  if (!axis || (s.along(0) && s.along(1))) return across("it picks elements of each other's steps");
  if (s.along(1)) return *axis + s.flow(1).axis;
  if (*axis == s.flow(0).axis) return across("it picks some of them");
  return s.flow(0).axis < *axis ? s.flow(0).axis : s.flow(0).axis + s.type(1).rank() - 1;
}

/// Scales are one for all elements, or lie along another axis.
Expected<int> quantized(const Site& s) {
  if (s.type(1).rank() > 1) return across("it has scales for blocks of elements");
  if (s.type(1).rank() == 1 && s.type(1).dims[0] != Dim(1)) return along_axis(s);
  return s.flow(0).axis;
}

/// Axes before the steps must be as many elements before and after, and so must theirs.
Expected<int> reshape(const Site& s) {
  const Type& from = s.type(0);
  const Type& to = s.module.value(s.node.outputs[0]).type;
  const auto at = static_cast<std::size_t>(s.flow(0).axis);
  const auto product = [](const Type& type, std::size_t count) -> std::optional<std::int64_t> {
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < count; ++i) {
      if (!type.dims[i].is_constant()) return std::nullopt;
      sizes.push_back(type.dims[i].value());
    }
    return checked_product(sizes);
  };
  for (std::size_t i = 0; to.ranked && i < to.dims.size(); ++i) {
    if (to.dims[i] != from.dims[at]) continue;
    const bool same_axes =
        i == at && std::equal(to.dims.begin(), to.dims.begin() + s.flow(0).axis, from.dims.begin());
    if (same_axes || (product(from, at) && product(from, at) == product(to, i)))
      return static_cast<int>(i);
  }
  return across("it mixes their axis with others");
}

struct Row {
  const ir::OpDef* op;
  Expected<int> (*axis)(const Site&);
  bool any_operand = false;  ///< others than the first may have the steps
};

constexpr Row kRows[] = {
    {&ops::identity_op, pointwise, true},
    {&ops::contract_op, contract, true},
    {&ops::reduce_op, reduce},
    {&ops::transpose_op, transpose},
    {&ops::squeeze_op, squeeze},
    {&ops::unsqueeze_op, unsqueeze},
    {&ops::concat_op, concat, true},
    {&ops::split_op, along_axis},
    {&ops::softmax_op, along_axis},
    {&ops::log_softmax_op, along_axis},
    {&ops::argmax_op, arg_extreme},
    {&ops::argmin_op, arg_extreme},
    {&ops::cumsum_op, cumulate},
    {&ops::slice_op, slice},
    {&ops::gather_op, gather, true},
    {&ops::reshape_op, reshape},
    {&ops::flatten_op, reshape},
    {&ops::quantize_linear_op, quantized},
    {&ops::dequantize_linear_op, quantized},
};

/// Walks the top region in order.
class Follower {
 public:
  Follower(const Module& module, Dim steps) : module_(module), steps_(steps) {
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
        return fail(Code::unsupported, "result {} is how many steps there are",
                    module_.describe(yield));
      if (kind(yield) == Kind::sum)
        return fail(Code::unsupported, "result {} is a sum over the steps",
                    module_.describe(yield));
    }
    return std::move(axes_);
  }

 private:
  /// Each piece is a run, whose numbers are others than those of the whole.
  [[nodiscard]] Expected<void> check_draws() const {
    for (const ir::RegionId region : ir::regions_outer_first(module_, module_.top()))
      for (const NodeId id : module_.region(region).nodes)
        if (module_.node(id).op->effects == ir::Effects::random)
          return fail(Code::unsupported, "{} draws other numbers for each piece of a stream",
                      module_.describe(id));
    return {};
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

  /// Values of no steps first, then those that only count them, then what is along them.
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
    if (any(node, Kind::last)) return across("it waits for what a loop has carried to their end");
    if (node.op == &ops::lstm_op) return visit_lstm(id);
    return visit_along(node);
  }

  /// A loop or layer along another axis whose size is open would begin anew with each piece, of
  /// which a user may feed pieces too.
  Expected<void> check_other_axes(const Node& node) const {
    const auto is_open = [&](ValueId value, std::int64_t axis) {
      const Type& type = module_.value(value).type;
      return !type.ranked || axis >= type.rank() ||
             !type.dims[static_cast<std::size_t>(axis)].is_constant();
    };
    bool open = node.op == &ops::lstm_op &&
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

  /// Sizes of values along the steps, and what is made of them before it counts the steps of a
  /// loop.
  Expected<void> visit_count(const Node& node) {
    const Site site{module_, node, axes_.flows};
    if (node.op == &ops::dim_op && site.along(0)) {
      const auto axis = axis_of(site, site.type(0).rank());
      if (axis == site.flow(0).axis) set_all(node, {Kind::count, 0});
      return {};
    }
    if (node.op == &ops::shape_op && site.along(0)) {
      const std::int64_t start =
          attr_of(node, "start").present() ? attr_of(node, "start").integer() : std::int64_t{0};
      const std::int64_t rank = site.type(0).rank();
      const std::int64_t first =
          std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
      set_all(node, {Kind::sizes, site.flow(0).axis - static_cast<int>(first)});
      return {};
    }
    const bool all_count = std::ranges::all_of(
        node.inputs, [&](ValueId input) { return !input.valid() || kind(input) == Kind::count; });
    const bool first_counts = kind(node.inputs[0]) == Kind::count;
    const bool reshapes = node.op == &ops::squeeze_op || node.op == &ops::unsqueeze_op ||
                          node.op == &ops::identity_op;
    if ((reshapes && first_counts) || (node.op == &ops::check_equal_op && all_count)) {
      set_all(node, {Kind::count, 0});
      return {};
    }
    if (kind(node.inputs[0]) != Kind::sizes) return across("it reads how many there are");
    const auto picked = elements_picked(node);
    if (!picked) return across("it reads how many there are");
    const int count = axes_.flows[node.inputs[0].index].axis;
    if (!contains(*picked, count)) return {};
    if (picked->size() > 1) return across("it reads how many there are");
    set_all(node, {Kind::count, 0});
    return {};
  }

  /// Which elements of the list of sizes the node takes; nullopt: that is not known.
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
    if (sums_over_steps({module_, node, axes_.flows})) {
      set(node.outputs[0], {Kind::sum, 0});
      return {};
    }
    SCANLOOM_TRY(const int axis, follow_node(module_, node, axes_.flows));
    set_all(node, {Kind::along, axis});
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
    if (!takes_all_steps(module_, id)) return across("a condition may end it");
    if (ports.has_trip_count && kind(node.inputs[0]) != Kind::count)
      return across("it takes a number of steps of its own");
    for (std::uint32_t i = 0; i < ports.captured + ports.carried; ++i) {
      const Kind read = kind(node.inputs[ports.first_captured_input() + i]);
      if (read == Kind::along) return across("its body reads all of them in each step");
      if (read == Kind::count || read == Kind::sizes)
        return across("its body reads how many there are");
      if (read == Kind::last)
        return across("it waits for what another loop has carried to their end");
    }
    for (std::size_t i = 0; i < ports.scanned.size(); ++i) {
      const ir::ScannedPort& port = ports.scanned[i];
      const ValueId outer = node.inputs[ports.first_scanned_input() + i];
      const StepFlow& flow = axes_.flows[outer.index];
      if (flow.kind != Kind::along || flow.axis != port.axis)
        return across(fmt::format("it walks along another axis of {}", module_.describe(outer)));
      if (port.start != 0 || port.stride != 1 || port.part != 1)
        return across(port.stride < 0 ? "it walks backwards" : "it does not take one at a time");
    }
    const ir::Region& body = module_.region(node.regions[0]);
    for (std::uint32_t i = 0; i < ports.carried; ++i) {
      axes_.sites.push_back({id, ports.first_carried_input() + i, i,
                             module_.value(body.args[ports.captured + i]).type});
      set(node.outputs[i], {Kind::last, 0});
    }
    for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
      const ir::StackedPort& port = ports.stacked[i];
      if (port.reverse) return across("its rows lie backwards");
      if (!port.insert) return across("its rows are concatenated");
      set(node.outputs[ports.carried + i], {Kind::along, static_cast<int>(port.axis)});
    }
    return {};
  }

  Expected<void> visit_lstm(NodeId id) {
    constexpr std::size_t kX = 0, kLengths = 4, kInitialH = 5, kInitialC = 6;
    const Node& node = module_.node(id);
    const int time = attr_of(node, "layout").integer() == 1 ? 1 : 0;
    const Site site{module_, node, axes_.flows};
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (site.along(i) != (i == kX) && site.has(i))
        return across("an operand other than the sequence has them");
    if (site.flow(kX).axis != time) return across("it walks along another axis");
    if (attr_of(node, "direction").text() != "forward") return across("it walks backwards");
    if (site.has(kLengths)) return across("its sequences have lengths of their own");
    set(node.outputs[0], {Kind::along, time});
    for (const std::size_t i : {0, 1}) {
      set(node.outputs[1 + i], {Kind::last, 0});
      axes_.sites.push_back(
          {id, i == 0 ? kInitialH : kInitialC, 1 + i, module_.value(node.outputs[1 + i]).type});
    }
    return {};
  }

  const Module& module_;
  const Dim steps_;
  StepAxes axes_;
};

}  // namespace

Expected<int> follow_node(const Module& module, const Node& node,
                          const std::vector<StepFlow>& flows) {
  const Site site{module, node, flows};
  const auto is_unranked = [&](ValueId value) {
    return value.valid() && !module.value(value).type.ranked;
  };
  if (std::ranges::any_of(node.inputs, is_unranked) ||
      std::ranges::any_of(node.outputs, is_unranked))
    return across("the number of axes of its operands or results is not known");
  constexpr Row kPointwise{nullptr, pointwise, true};
  const Row* row = std::ranges::find(kRows, node.op, &Row::op);
  if (row == std::end(kRows)) row = node.op->scalar != nullptr ? &kPointwise : nullptr;
  if (row == nullptr) return across(fmt::format("'{}' has no rule for streams", node.op->name));
  for (std::size_t i = 0; i < node.inputs.size() && !row->any_operand; ++i)
    if (site.along(i) != (i == 0)) return across("an operand other than the first has them");
  return row->axis(site);
}

Expected<StepAxes> follow_steps(const Module& module, Dim steps) {
  return Follower(module, steps).follow();
}

}  // namespace scanloom::passes
