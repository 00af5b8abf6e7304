// Replaces a loop that carries only counters by its body, lifted over all steps: no step waits for
// another. It does so if a step calls kernels that compute little, so that the calls take most of
// the time. Other bodies stay: one without such calls keeps in registers, as machine code, what
// would otherwise go through memory; one with large kernels or convolutions has steps that run in
// parallel anyway; and one may have values much larger than its rows.
//
// Bits do not change, and nothing is computed that no step may reach. Steps that run backwards are
// reversed, counters become ranges.
//
// It runs after hoist_invariant, which has captured what is the same in every step, and before
// batch_over_time, which would take apart loops that can be replaced as a whole.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/checked.h"
#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "passes/analysis/over_time.h"
#include "passes/pass.h"
#include "passes/rewrite/outside.h"
#include "passes/rewrite/ports.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

/// How many times as large as what a step reads of sequences and writes all its values may be.
constexpr std::int64_t kMaxRowGrowth = 4;
/// The limit for the bytes of the values of all steps: more would leave the caches.
constexpr std::int64_t kMaxBytesOfMap = 64 << 20;

std::int64_t known_bytes(const Type& type) {
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(type.dtype));
  return checked_product(std::array{known_elements(type), bytes})
      .value_or(std::numeric_limits<std::int64_t>::max());
}

/// One loop.
class Mapper {
 public:
  Mapper(Module& module, NodeId loop, const KnownSizes& sizes, KnownTripCounts& counts,
         ir::ValueMap& results)
      : module_(module),
        loop_(loop),
        map_(results),
        body_(module.node(loop).regions[0]),
        sizes_(sizes),
        counts_(counts) {}

  Change run() {
    if (!takes_all_steps(module_, loop_) || !find_steps() || !find_counters()) return {};
    find_needed();
    if (!can_lift_all() || !pays()) return {};
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
  [[nodiscard]] const std::vector<NodeId>& nodes() const { return module_.region(body_).nodes; }
  [[nodiscard]] const LoopPorts& ports() const { return *module_.node(loop_).loop; }
  [[nodiscard]] ValueId argument(std::size_t i) const { return module_.region(body_).args[i]; }
  [[nodiscard]] std::size_t first_scanned() const { return ports().captured + ports().carried; }
  [[nodiscard]] ValueId sequence(std::size_t scanned) const {
    return module_.node(loop_).inputs[ports().first_scanned_input() + scanned];
  }
  [[nodiscard]] ValueId row(std::size_t stacked) const {
    return module_.region(body_).yields[ports().first_stacked_yield() + stacked];
  }

  /// Whether the slices of all sequences are their elements, equally many in each.
  bool find_steps() {
    auto courses = courses_of(module_, loop_, counts_.of(loop_), sizes_);
    if (!courses) return false;
    courses_ = *std::move(courses);
    for (std::size_t i = 0; i < courses_.size(); ++i)
      varying_.insert(argument(first_scanned() + i));
    const auto is_row = [](const ir::StackedPort& port) { return port.insert; };
    return !courses_.empty() && std::ranges::all_of(ports().stacked, is_row);
  }

  /// Whether all carried values are counters.
  bool find_counters() {
    auto increments = increments_of(module_, loop_);
    if (!increments) return false;
    increments_ = *std::move(increments);
    for (std::uint32_t i = 0; i < ports().carried; ++i)
      varying_.insert(argument(ports().captured + i));
    const auto is_backward = [](const Course& course) { return course.backward; };
    backward_ = increments_.empty() && std::ranges::all_of(courses_, is_backward);
    return true;
  }

  /// Finds the nodes that rows are made from.
  void find_needed() {
    std::set<ValueId> read;
    for (std::size_t i = 0; i < ports().stacked.size(); ++i) read.insert(row(i));
    const std::vector<NodeId>& body = nodes();
    for (auto id = body.rbegin(); id != body.rend(); ++id) {
      const Node& node = module_.node(*id);
      if (std::ranges::none_of(node.outputs, [&](ValueId value) { return read.contains(value); }))
        continue;
      needed_.insert(*id);
      read.insert(node.inputs.begin(), node.inputs.end());
    }
  }

  [[nodiscard]] std::vector<bool> varies(const Node& node) const {
    std::vector<bool> result;
    for (const ValueId input : node.inputs) result.push_back(varying_.contains(input));
    return result;
  }

  /// A value that is the same in all steps is computed once outside, so it must be cheap and unable
  /// to fail.
  bool can_lift_all() {
    for (const NodeId id : nodes()) {
      if (!needed_.contains(id)) continue;
      const Node& node = module_.node(id);
      const std::vector<bool> inputs = varies(node);
      const bool same = std::ranges::find(inputs, true) == inputs.end();
      if (same && node.op == &ir::constant_op) continue;
      if ((same && node.op->access != ir::Access::view) || !can_lift(module_, sizes_, id, inputs))
        return false;
      if (!same) varying_.insert(node.outputs.begin(), node.outputs.end());
    }
    return true;
  }

  [[nodiscard]] bool pays() const {
    const bool parallel_steps = runs_parallel_steps(module_, loop_);
    bool gains = false;
    std::int64_t made = 0, kept = 0;
    for (const NodeId id : nodes()) {
      const Node& node = module_.node(id);
      if (!needed_.contains(id) || !varying_.contains(node.outputs[0])) continue;
      const bool here = gains_over_time(module_, node, varies(node), parallel_steps);
      if (!here && may_gain_over_time(*node.op) && node.op->access != ir::Access::contract)
        return false;
      gains |= here;
      if (node.op->access == ir::Access::view) continue;
      for (const ValueId output : node.outputs)
        made = saturating_sum(made, known_bytes(module_.value(output).type));
    }
    for (std::size_t i = 0; i < ports().scanned.size(); ++i)
      kept = saturating_sum(kept, known_bytes(module_.value(argument(first_scanned() + i)).type));
    for (std::size_t i = 0; i < ports().stacked.size(); ++i)
      kept = saturating_sum(kept, known_bytes(module_.value(row(i)).type));
    const ir::Dim steps = courses_.front().steps;
    const std::int64_t known_steps = steps.is_constant() ? steps.value() : 1;
    return gains && made / kMaxRowGrowth <= kept &&
           checked_product(std::array{made, known_steps}).value_or(kMaxBytesOfMap + 1) <=
               kMaxBytesOfMap;
  }

  // --- building

  Expected<void> build(Outside& outside) {
    for (const NodeId id : nodes()) {
      if (!needed_.contains(id)) continue;
      for (const ValueId input : module_.node(id).inputs)
        if (input.valid()) SCANLOOM_CHECK_OK(enter(outside, input));
      SCANLOOM_CHECK_OK(outside.add(id, courses_.front().steps));
    }
    for (std::uint32_t i = 0; i < ports().carried; ++i) {
      SCANLOOM_TRY(const ValueId last, last_of_counter(outside.builder(), i));
      SCANLOOM_CHECK_OK(put(module_.node(loop_).outputs[i], last));
    }
    for (std::size_t i = 0; i < ports().stacked.size(); ++i)
      SCANLOOM_CHECK_OK(add_result(outside, i));
    return {};
  }

  /// Enters a counter or scanned value that something reads.
  Expected<void> enter(Outside& outside, ValueId value) {
    if (outside.has(value)) return {};
    const std::size_t index = module_.value(value).index;
    if (index < first_scanned()) {
      SCANLOOM_TRY(const ValueId counter, counted(outside.builder(), index - ports().captured));
      outside.set(value, {counter, 0});
      return {};
    }
    const std::size_t scanned = index - first_scanned();
    SCANLOOM_TRY(Lifted lifted, scanned_sequence(outside.builder(), loop_, scanned));
    if (courses_[scanned].backward != backward_) {
      SCANLOOM_TRY(lifted.value, turned(outside.builder(), lifted.value, lifted.axis));
    }
    outside.set(value, lifted);
    return {};
  }

  /// Reverses the elements along an axis.
  static Expected<ValueId> turned(ir::Builder& builder, ValueId value, std::int64_t axis) {
    return builder.op(ops::slice_op, {value, list_of(builder, {-1}),
                                      list_of(builder, {std::numeric_limits<std::int64_t>::min()}),
                                      list_of(builder, {axis}), list_of(builder, {-1})});
  }

  static ValueId number(ir::Builder& builder, std::int64_t value) {
    return builder.constant(tensor::Tensor::of<std::int64_t>({}, {{value}}));
  }

  Expected<ValueId> step_count(ir::Builder& builder) const {
    return builder.op(ops::dim_op, {sequence(0)}, {{"axis", ports().scanned[0].axis}});
  }

  /// Adds `steps` increments to the counter's first value.
  Expected<ValueId> after(ir::Builder& builder, ValueId steps, std::size_t counter) const {
    const ValueId first = module_.node(loop_).inputs[ports().first_carried_input() + counter];
    SCANLOOM_TRY(const ValueId added,
                 builder.op(ops::mul_op, {steps, number(builder, increments_[counter])}));
    return builder.op(ops::add_op, {first, added});
  }

  /// Returns the values of a counter in all steps.
  Expected<ValueId> counted(ir::Builder& builder, std::size_t counter) const {
    SCANLOOM_TRY(const ValueId count, step_count(builder));
    SCANLOOM_TRY(const ValueId steps,
                 builder.op(ops::range_op, {number(builder, 0), count, number(builder, 1)}));
    return after(builder, steps, counter);
  }

  Expected<ValueId> last_of_counter(ir::Builder& builder, std::size_t counter) const {
    SCANLOOM_TRY(const ValueId count, step_count(builder));
    return after(builder, count, counter);
  }

  Expected<void> add_result(Outside& outside, std::size_t stacked) {
    const ir::StackedPort port = ports().stacked[stacked];
    const ValueId result = module_.node(loop_).outputs[ports().carried + stacked];
    SCANLOOM_CHECK_OK(enter(outside, row(stacked)));
    Lifted rows = outside[row(stacked)];
    const bool varies = rows.is_sequence();
    if (!varies) {
      SCANLOOM_TRY(rows, repeated(outside.builder(), rows.value,
                                  {sequence(0), static_cast<int>(ports().scanned[0].axis)}));
    }
    SCANLOOM_TRY(ValueId value,
                 with_steps_along(outside.builder(), rows, static_cast<int>(port.axis)));
    if (varies && port.reverse != backward_) {
      SCANLOOM_TRY(value, turned(outside.builder(), value, port.axis));
    }
    return put(result, value);
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
  const ir::RegionId body_;
  const KnownSizes& sizes_;
  KnownTripCounts& counts_;
  std::vector<Course> courses_;           ///< by scanned port
  std::vector<std::int64_t> increments_;  ///< by carried port
  bool backward_ = false;                 ///< whether the lifted steps go from last to first
  std::set<ValueId> varying_;
  std::set<NodeId> needed_;
  std::vector<std::pair<ValueId, ValueId>> replacements_;  ///< of the loop's results
};

}  // namespace

// Inner loops first: the replacement of one may be lifted out of the next.
Expected<Change> loop_to_map(ir::Module& module) {
  const KnownSizes sizes(module);
  KnownTripCounts counts(module);
  return sweep_loops(module, [&](NodeId loop, ir::ValueMap& map) {
    return Mapper(module, loop, sizes, counts, map).run();
  });
}

}  // namespace scanloom::passes
