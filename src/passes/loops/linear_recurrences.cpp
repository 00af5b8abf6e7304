// A recurrence with constant coefficients, such as an exponential mean, a running sum or a filter
// of second order, waits in every step for the products and sums of the step before. This pass
// computes it with linear_scan, which takes the steps of a block in a tree of products and sums
// (opmath/linear_scan.h), and everything else in the body for all steps at once. Coefficients are
// combined in f64.
//
// The last bits change, so it only runs with Numerics::fast. It runs after the passes that work on
// loops, since they see no loop any more. It takes loops of any number of steps, so that bits do
// not depend on whether it is known, and loops of few steps before they are unrolled. Loops inside
// of loops are left alone: they often take few steps. So are those whose body computes more per
// step than the recurrences save.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/analysis/over_time.h"
#include "passes/loops/chosen_loops.h"
#include "passes/loops/linear_body.h"
#include "passes/loops/linear_form.h"
#include "passes/loops/varying_form.h"
#include "passes/pass.h"
#include "passes/rewrite/outside.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool is_cumulative_sum(const Module& module, const Node& node) {
  if (node.op != &ops::cumsum_op || is_in_loop(module, node.parent)) return false;
  const ir::Type& type = module.value(node.inputs[0]).type;
  if (!type.ranked || type.rank() == 0 || (type.dtype != DType::f32 && type.dtype != DType::f64))
    return false;
  const auto axis = known_integer(module, node.inputs[1]);
  return axis && tensor::normalise_axis(*axis, type.rank()) == type.rank() - 1;
}

bool may_be_linear(const Module& module, NodeId id) {
  const Node& node = module.node(id);
  return node.op == &ir::loop_op && node.loop->carried > 0 && !node.loop->scanned.empty() &&
         !is_in_loop(module, node.parent) && takes_all_steps(module, id);
}

ValueId one_by_one(ir::Builder& builder) {
  return builder.constant(tensor::Tensor::of<double>({1, 1}, {{1.0}}));
}

/// Replaces a cumulative sum along the last axis.
Expected<bool> sum_in_blocks(Rewriter& rewriter, NodeId id) {
  const Node node = rewriter.module().node(id);  // by value: adding nodes may move it
  if (!is_cumulative_sum(rewriter.module(), node)) return false;
  ir::Builder& builder = rewriter.build();
  const bool is_float = rewriter.type(node.inputs[0]).dtype == DType::f32;
  SCANLOOM_TRY(auto zero, tensor::Tensor::zeros(is_float ? DType::f32 : DType::f64, {1}));
  const ValueId one = one_by_one(builder), initial = builder.constant(std::move(zero));
  SCANLOOM_TRY(const NodeId scan,
               builder.node(ops::linear_scan_op, {node.inputs[0], one, one, initial},
                            {{"reverse", attr_of(node, "reverse").integer()},
                             {"before", attr_of(node, "exclusive").integer()}},
                            3));
  rewriter.replace(node.outputs[0], rewriter.module().node(scan).outputs[1]);
  return true;
}

/// One loop.
class LinearLoop {
 public:
  LinearLoop(Module& module, NodeId loop, const KnownSizes& sizes, KnownTripCounts& counts,
             ir::ValueMap& results)
      : module_(module), loop_(loop), map_(results), sizes_(sizes), counts_(counts) {}

  Change run() {
    if (!find_steps()) return {};
    body_ = LinearBody::of(module_, sizes_, loop_);
    if (!body_) return {};
    Outside outside(module_, loop_);
    if (!build(outside)) {
      outside.take_back();
      return {};
    }
    for (const auto& [from, to] : replacements_) map_.set(from, to);
    outside.put_before();
    std::erase(module_.region(module_.node(loop_).parent).nodes, loop_);
    return {.changed = true};
  }

 private:
  [[nodiscard]] const LoopPorts& ports() const { return *module_.node(loop_).loop; }
  [[nodiscard]] const ir::Region& body() const {
    return module_.region(module_.node(loop_).regions[0]);
  }
  [[nodiscard]] ValueId sequence(std::size_t scanned) const {
    return module_.node(loop_).inputs[ports().first_scanned_input() + scanned];
  }
  [[nodiscard]] ValueId initial(std::size_t state) const {
    return module_.node(loop_).inputs[ports().first_carried_input() + state];
  }

  /// Whether the slices of all sequences are their elements, equally many in each and in the same
  /// order.
  bool find_steps() {
    const auto courses = courses_of(module_, loop_, counts_.of(loop_), sizes_);
    if (!courses) return false;
    course_ = courses->front();
    const auto differs = [&](const Course& course) { return course != course_; };
    if (std::ranges::any_of(*courses, differs)) return false;
    const auto fits = [&](const ir::StackedPort& port) {
      return port.insert && port.reverse == course_.backward;
    };
    return std::ranges::all_of(ports().stacked, fits);
  }

  Expected<void> build(Outside& outside) {
    for (std::size_t i = 0; i < ports().scanned.size(); ++i) {
      SCANLOOM_TRY(const Lifted lifted, scanned_sequence(outside.builder(), loop_, i));
      outside.set(body().args[ports().captured + ports().carried + i], lifted);
    }
    SCANLOOM_CHECK_OK(add_ready(outside));
    for (const StateGroup& group : body_->groups()) {
      SCANLOOM_CHECK_OK(group.is_delay ? delay(outside, group.states[0]) : solve(outside, group));
      SCANLOOM_CHECK_OK(add_ready(outside));
    }
    for (std::size_t i = 0; i < ports().stacked.size(); ++i)
      SCANLOOM_CHECK_OK(add_rows(outside, i));
    return {};
  }

  /// Adds the nodes that are needed and whose operands are there.
  Expected<void> add_ready(Outside& outside) {
    const std::vector<NodeId> nodes = body().nodes;
    for (const NodeId id : nodes) {
      const Node& node = module_.node(id);
      const auto is_there = [&](ValueId input) { return !input.valid() || outside.has(input); };
      if (outside.has(node.outputs[0]) || !std::ranges::all_of(node.inputs, is_there) ||
          std::ranges::none_of(node.outputs, [&](ValueId v) { return body_->is_needed(v); }))
        continue;
      SCANLOOM_CHECK_OK(outside.add(id, course_.steps));
    }
    return {};
  }

  /// A state that is the value of the step before.
  Expected<void> delay(Outside& outside, std::size_t state) {
    ir::Builder& builder = outside.builder();
    Lifted rows = outside[body_->next_of(state)];
    if (!rows.is_sequence()) {
      SCANLOOM_TRY(rows, repeated(builder, rows.value, first_sequence()));
    }
    SCANLOOM_TRY(rows, ops::at_front(builder, rows));
    SCANLOOM_TRY(ValueId first, ops::with_axes_of_1(builder, initial(state), 0, 1));
    std::vector<ValueId> parts{first, rows.value};
    if (course_.backward) std::swap(parts[0], parts[1]);
    SCANLOOM_TRY(const ValueId all, builder.op(ops::concat_op, parts, {{"axis", 0}}));
    constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      return builder.op(ops::slice_op, {all, list_of(builder, {begin}), list_of(builder, {end}),
                                        list_of(builder, {0})});
    };
    SCANLOOM_TRY(const ValueId before, course_.backward ? part(1, kEnd) : part(0, -1));
    SCANLOOM_TRY(const ValueId last, course_.backward ? part(0, 1) : part(-1, kEnd));
    outside.set(body_->argument_of(state), {before, 0});
    SCANLOOM_TRY(const ValueId result,
                 builder.op(ops::squeeze_op, {last}, {{"axes", std::vector<std::int64_t>{0}}}));
    return put(module_.node(loop_).outputs[state], result);
  }

  [[nodiscard]] Lifted first_sequence() const {
    return {sequence(0), static_cast<int>(ports().scanned[0].axis)};
  }

  Expected<void> solve(Outside& outside, const StateGroup& group) {
    ir::Builder& builder = outside.builder();
    SCANLOOM_TRY(std::vector<ValueId> operands, operands_of(outside, group));
    SCANLOOM_TRY(operands[3], initial_of(builder, group));
    const auto scan = [&](bool before) {
      return builder.node(
          ops::linear_scan_op, operands,
          {{"reverse", std::int64_t{course_.backward}}, {"before", std::int64_t{before}}}, 3);
    };
    const auto is_read = [&](bool before) {
      return std::ranges::any_of(group.states, [&](std::size_t state) {
        return body_->is_needed(before ? body_->argument_of(state) : body_->next_of(state));
      });
    };
    std::optional<NodeId> first;
    for (const bool before : {false, true}) {
      if (!is_read(before) && (!before || first)) continue;
      SCANLOOM_TRY(const NodeId node, scan(before));
      SCANLOOM_CHECK_OK(set_rows(outside, group, node, before));
      if (!first) first = node;
    }
    return put_last(builder, group, *first);
  }

  /// Returns the operands of linear_scan, except for `initial`.
  Expected<std::vector<ValueId>> operands_of(Outside& outside, const StateGroup& group) {
    if (!group.varies) return LinearForms(outside, *body_, group, first_sequence()).operands();
    VaryingForm form(outside, *body_, group, first_sequence());
    SCANLOOM_TRY(const auto x_and_factor, form.operands());
    const ValueId one = one_by_one(outside.builder());
    return std::vector<ValueId>{x_and_factor.first, one, one, {}, {}, x_and_factor.second};
  }

  /// Returns the initial values of the group's states as a list.
  Expected<ValueId> initial_of(ir::Builder& builder, const StateGroup& group) {
    std::vector<ValueId> parts;
    for (const std::size_t state : group.states) {
      SCANLOOM_TRY(
          const ValueId part,
          builder.op(ops::reshape_op, {initial(state), list_of(builder, {1})}, {{"allowzero", 0}}));
      parts.push_back(part);
    }
    if (parts.size() == 1) return parts[0];
    return builder.op(ops::concat_op, parts, {{"axis", 0}});
  }

  Expected<void> set_rows(Outside& outside, const StateGroup& group, NodeId scan, bool before) {
    for (std::size_t i = 0; i < group.states.size(); ++i) {
      const ValueId inside =
          before ? body_->argument_of(group.states[i]) : body_->next_of(group.states[i]);
      const int rank = module_.value(inside).type.rank();
      SCANLOOM_TRY(
          const ValueId rows,
          ops::with_axes_of_1(outside.builder(), module_.node(scan).outputs[1 + i], 1, rank));
      outside.set(inside, {rows, 0});
    }
    return {};
  }

  Expected<void> put_last(ir::Builder& builder, const StateGroup& group, NodeId scan) {
    for (std::size_t i = 0; i < group.states.size(); ++i) {
      const ValueId result = module_.node(loop_).outputs[group.states[i]];
      ValueId last = module_.node(scan).outputs[0];
      if (group.states.size() > 1) {
        const auto at = static_cast<std::int64_t>(i);
        SCANLOOM_TRY(
            last, builder.op(ops::slice_op, {last, list_of(builder, {at}),
                                             list_of(builder, {at + 1}), list_of(builder, {0})}));
      }
      const std::vector<std::int64_t> sizes(
          static_cast<std::size_t>(module_.value(result).type.rank()), 1);
      SCANLOOM_TRY(
          last, builder.op(ops::reshape_op, {last, list_of(builder, sizes)}, {{"allowzero", 0}}));
      SCANLOOM_CHECK_OK(put(result, last));
    }
    return {};
  }

  Expected<void> add_rows(Outside& outside, std::size_t stacked) {
    const ir::StackedPort port = ports().stacked[stacked];
    const ValueId inside = body().yields[ports().first_stacked_yield() + stacked];
    Lifted rows = outside[inside];
    if (!rows.is_sequence()) {
      SCANLOOM_TRY(rows, repeated(outside.builder(), rows.value, first_sequence()));
    }
    SCANLOOM_TRY(const ValueId value,
                 with_steps_along(outside.builder(), rows, static_cast<int>(port.axis)));
    return put(module_.node(loop_).outputs[ports().carried + stacked], value);
  }

  Expected<void> put(ValueId result, ValueId value) {
    if (module_.value(value).type != module_.value(result).type)
      return fail(Code::internal, "{} has other sizes outside of its loop",
                  module_.describe(result));
    replacements_.emplace_back(result, value);
    return {};
  }

  Module& module_;
  const NodeId loop_;
  ir::ValueMap& map_;  ///< replacements of the results of loops
  const KnownSizes& sizes_;
  KnownTripCounts& counts_;
  Course course_;
  std::optional<LinearBody> body_;
  std::vector<std::pair<ValueId, ValueId>> replacements_;  ///< of the loop's results
};

/// Values of the body that only the recurrences read are left over, and coefficients are numbers.
Expected<void> clean_up(Module& module) {
  SCANLOOM_CHECK_OK(fold_constants(module));
  SCANLOOM_CHECK_OK(drop_dead_code(module));
  return {};
}

}  // namespace

/// Whether some loop may have linear recurrences, or there is a cumulative sum.
bool has_linear_recurrences(const Module& module) {
  return std::ranges::any_of(module.region(module.top()).nodes, [&](NodeId id) {
    return may_be_linear(module, id) || is_cumulative_sum(module, module.node(id));
  });
}

Expected<Change> linear_recurrences_in(Module& module, const WhichLoops& which) {
  const KnownSizes sizes(module);
  KnownTripCounts counts(module);
  const Change change = sweep_loops(module, [&](NodeId loop, ir::ValueMap& map) {
    return may_be_linear(module, loop) && which(loop)
               ? LinearLoop(module, loop, sizes, counts, map).run()
               : Change{};
  });
  if (change.changed) SCANLOOM_CHECK_OK(clean_up(module));
  return change;
}

Expected<Change> linear_recurrences(ir::Module& module) {
  SCANLOOM_TRY(Change change, linear_recurrences_in(module, [](NodeId) { return true; }));
  SCANLOOM_TRY(const Change sums, Rewriter(module).sweep(sum_in_blocks));
  change |= sums;
  if (sums.changed) SCANLOOM_CHECK_OK(clean_up(module));
  return change;
}

}  // namespace scanloom::passes
