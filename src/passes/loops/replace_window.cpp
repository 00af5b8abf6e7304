// Turns concat(x[:i], part, x[i + n:]) in a loop's body into a write of the part to x: a state of
// which a step changes a window then stays in place. Only if the window is certainly within x, so
// that no size can differ. Also turns scatters by constant index tuples that name a window into
// scatters of that window, which need no index per element. It runs after slice_by_counter, which
// needs the step numbers that it recognises. Small tensors of known sizes are left to
// scalarize_states.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ops/index/slice_cuts.h"
#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/analysis/over_time.h"
#include "passes/analysis/step_number.h"
#include "passes/nodes/window_indices.h"
#include "passes/pass.h"
#include "passes/rewrite/ports.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Smaller tensors may become parts in registers.
constexpr std::int64_t kMinWindowElements = 1024;

/// Whether a slice that ends there takes all elements to the end of the axis.
bool reaches_end(std::int64_t end, ir::Dim size) {
  return ops::is_open_end(end) || (size.is_constant() && end >= size.value());
}

/// A slice with step 1 along one axis.
struct Cut {
  ValueId x, start, end;
  int axis = 0;
};

std::optional<Cut> cut_of(const Module& module, ValueId value) {
  const Node* const node = made_by(module, value, ops::slice_op);
  if (node == nullptr) return std::nullopt;
  const ir::Type& type = module.value(node->inputs[0]).type;
  const auto operand = [&](std::size_t i) {
    return i < node->inputs.size() ? node->inputs[i] : ValueId();
  };
  const ValueId steps = operand(4), axes = operand(3);
  const auto given = axes.valid() ? known_integer(module, axes) : std::optional(std::int64_t{0});
  if (!type.is_tensor() || !type.ranked || !given ||
      (steps.valid() && known_integer(module, steps) != 1))
    return std::nullopt;
  for (const ValueId bound : {operand(1), operand(2)}) {
    const ir::Type& of_bound = module.value(bound).type;
    if (!of_bound.is_static() || of_bound.shape().elements() != 1) return std::nullopt;
  }
  const auto axis = tensor::normalise_axis(*given, type.rank());
  if (!axis) return std::nullopt;
  return Cut{node->inputs[0], operand(1), operand(2), *axis};
}

/// A window of x along `axis`, and what replaces it.
struct Window {
  ValueId x, part, start, end;
  int axis = 0;
};

class Replacer {
 public:
  Replacer(Module& module, NodeId loop, std::vector<ir::Dim> counts)
      : module_(module), loop_(loop), counts_(std::move(counts)) {}

  bool run() {
    bool changed = false;
    const std::vector<NodeId> nodes = module_.region(module_.node(loop_).regions[0]).nodes;
    for (const NodeId id : nodes)
      if (const auto window = window_of(module_.node(id))) {
        replace(id, *window);
        changed = true;
      }
    return changed;
  }

 private:
  [[nodiscard]] const ir::Type& type(ValueId value) const { return module_.value(value).type; }

  /// Returns the window of a tensor that the concat replaces, if it does nothing else.
  [[nodiscard]] std::optional<Window> window_of(const Node& concat) const {
    if (concat.op != &ops::concat_op || concat.inputs.size() != 3) return std::nullopt;
    const auto before = cut_of(module_, concat.inputs[0]),
               after = cut_of(module_, concat.inputs[2]);
    if (!before || !after || before->x != after->x || before->axis != after->axis)
      return std::nullopt;
    const ValueId x = before->x, part = concat.inputs[1];
    const ir::Type &whole = type_in_step(x, concat.outputs[0]), &middle = type(part);
    if (!whole.is_tensor() || !whole.ranked || !is_large(whole) || !middle.is_tensor() ||
        !middle.ranked || middle.rank() != whole.rank() || whole.dtype != middle.dtype ||
        tensor::normalise_axis(attr_of(concat, "axis").integer(), whole.rank()) != before->axis)
      return std::nullopt;
    const auto at = static_cast<std::size_t>(before->axis);
    for (std::size_t i = 0; i < whole.dims.size(); ++i)
      if (i != at && middle.dims[i] != whole.dims[i]) return std::nullopt;
    const auto end = known_integer(module_, after->end);
    if (known_integer(module_, before->start) != 0 || !end || !reaches_end(*end, whole.dims[at]) ||
        !middle.dims[at].is_constant() ||
        !fits(before->end, after->start, middle.dims[at].value(), whole.dims[at]))
      return std::nullopt;
    return Window{x, part, before->end, after->start, before->axis};
  }

  /// Returns the type of x in a step. If x is a state whose next value is the concat, these are the
  /// sizes of the initial value: a window within these does not change them.
  [[nodiscard]] const ir::Type& type_in_step(ValueId x, ValueId next) const {
    const Node& loop = module_.node(loop_);
    const auto state = body_argument(module_, loop, x, loop.loop->captured, loop.loop->carried);
    if (!state ||
        module_.region(loop.regions[0]).yields[loop.loop->first_carried_yield() + *state] != next)
      return type(x);
    return type(loop.inputs[loop.loop->first_carried_input() + *state]);
  }

  /// Excludes tensors that other passes would rather take apart.
  static bool is_large(const ir::Type& whole) {
    return whole.dtype != DType::string &&
           (!whole.is_static() || whole.shape().elements() >= kMinWindowElements);
  }

  /// Whether the window of `count` elements from start to end is certainly within the axis.
  [[nodiscard]] bool fits(ValueId start, ValueId end, std::int64_t count, ir::Dim size) const {
    const auto first = known_integer(module_, start), last = known_integer(module_, end);
    if (first && last)
      return *first >= 0 && *last - *first == count && size.is_constant() && *last <= size.value();
    const auto from = steps_ahead(start), to = steps_ahead(end);
    if (!from || !to || *from < 0 || *to - *from != count) return false;
    if (*to == 1) return has_element_per_step(module_, module_.node(loop_), counts_, size);
    const auto trips = known_trip_count(module_, module_.node(loop_));
    return trips && size.is_constant() && *trips <= size.value() - (*to - 1);
  }

  /// Returns how much larger than the number of the step a value of one element is; nullopt if it
  /// is not computed from that number.
  [[nodiscard]] std::optional<std::int64_t> steps_ahead(ValueId value) const {
    constexpr std::int64_t kFar = std::int64_t{1} << 40;
    std::int64_t ahead = 0;
    while (!is_step_number(module_, loop_, value)) {
      const Node* made = nullptr;
      for (const ir::OpDef* const op : {&ops::unsqueeze_op, &ops::squeeze_op, &ops::reshape_op})
        if (made == nullptr) made = made_by(module_, value, *op);
      if (made != nullptr) {
        value = made->inputs[0];
        continue;
      }
      made = made_by(module_, value, ops::add_op);
      if (made == nullptr || type(value).dtype != DType::i64) return std::nullopt;
      const auto left = known_integer(module_, made->inputs[0]),
                 right = known_integer(module_, made->inputs[1]);
      const auto number = right ? right : left;
      if (!number || *number < -kFar || *number > kFar) return std::nullopt;
      ahead += *number;
      if (ahead < -kFar || ahead > kFar) return std::nullopt;
      value = made->inputs[right ? 0 : 1];
    }
    return ahead;
  }

  /// Replaces the concat by a scatter at the same position; its bounds already come before it.
  void replace(NodeId id, const Window& window) {
    Node& node = module_.node(id);
    node.op = &ops::scatter_slice_op;
    node.inputs = {window.x, window.part, ValueId(), window.start, window.end};
    node.attrs = {tensor::Attr(std::vector<std::int64_t>{window.axis}),
                  tensor::Attr(std::vector<std::int64_t>{}), tensor::Attr("none")};
    const ir::Type whole = type_in_step(window.x, node.outputs[0]);
    module_.value(node.outputs[0]).type = whole;
  }

  Module& module_;
  const NodeId loop_;
  const std::vector<ir::Dim> counts_;
};

bool has_concat(const Module& module, NodeId loop) {
  return std::ranges::any_of(module.region(module.node(loop).regions[0]).nodes, [&](NodeId inner) {
    return module.node(inner).op == &ops::concat_op && module.node(inner).inputs.size() == 3;
  });
}

/// Replaces constant tuples that name a window by that window.
Expected<bool> name_window(Rewriter& rewriter, NodeId id) {
  const Node node = rewriter.module().node(id);  // by value: adding nodes may move it
  if (node.op != &ops::scatter_nd_op) return false;
  const tensor::Tensor* const tuples = constant_of(rewriter.module(), node.inputs[1]);
  const ir::Type& data = rewriter.type(node.inputs[0]);
  if (tuples == nullptr || !data.is_tensor() || !data.ranked) return false;
  const auto window = window_of_tuples(*tuples, data.dims);
  if (!window) return false;
  ir::Builder& build = rewriter.build();
  const auto list = [&](const std::vector<std::int64_t>& numbers) {
    return build.constant(
        tensor::Tensor::of<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, numbers));
  };
  const bool by_one =
      std::ranges::all_of(window->steps, [](std::int64_t step) { return step == 1; });
  std::vector<ValueId> operands{node.inputs[0], node.inputs[2],
                                window->picked.empty() ? ValueId() : list(window->indices),
                                list(window->starts), list(window->ends)};
  if (!by_one) operands.push_back(list(window->steps));
  SCANLOOM_TRY(const ValueId written, build.op(ops::scatter_slice_op, std::move(operands),
                                               {{"axes", window->axes},
                                                {"picked", window->picked},
                                                {"reduction", attr_of(node, "reduction")}}));
  rewriter.replace(node.outputs[0], written);
  return true;
}

}  // namespace

Expected<Change> replace_window(ir::Module& module) {
  SCANLOOM_TRY(Change change, Rewriter(module).sweep(name_window));
  std::vector<NodeId> loops = nodes_with_regions(module, Order::outer_first);
  std::erase_if(loops, [&](NodeId id) {
    return module.node(id).op != &ir::loop_op || !has_concat(module, id);
  });
  if (loops.empty()) return change;
  const KnownTripCounts counts(module);
  for (const NodeId loop : loops) change.changed |= Replacer(module, loop, counts.of(loop)).run();
  return change;
}

}  // namespace scanloom::passes
