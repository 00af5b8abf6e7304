// Replaces a state that only sums up products, one per step, by one product after the loop, which
// sums over the steps too. Gradients of captured matrices have this form. The operands of the
// products are stacked, unless they are stacked or scanned already. A step then no longer reads and
// writes the sum, which is larger than the operands.
//
// This changes bits: the large product starts from 0 and adds one multiply-add after another, over
// the steps in the order of their sequences, and within a step over what its product sums; the
// initial value is added last. In the loop each step's product is rounded before it is added.
// docs/numbers.md says how far apart the two may be.
//
// It runs after sink_after_loop, with which it shares the stacks, and before drop_dead_code, which
// removes a loop that has become empty.
#include <algorithm>
#include <map>
#include <set>

#include "base/checked.h"
#include "opmath/einsum_text.h"
#include "ops/ops.h"
#include "passes/analysis/over_time.h"
#include "passes/loops/accumulators.h"
#include "passes/loops/sequences.h"
#include "passes/pass.h"
#include "passes/rewrite/ports.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::SizeTerm;
using ir::Type;
using ir::ValueId;
using tensor::Einsum;

// The limits are on everything that the loop stacks: the stacks of one round of the pipeline are
// already there in the next round, which must not find room for more.
/// The limit if the size is known.
constexpr std::int64_t kMaxStackedBytesOfProduct = std::int64_t{64} << 20;
/// The limit if it is not known: a multiple of what the loop scans, which no sum adds to.
constexpr std::int64_t kMaxScanGrowth = 4;

/// Returns the specification with the steps before both operands, so that they are summed first.
std::optional<std::string> over_steps(Einsum einsum) {
  const std::uint8_t letter = unused_letter(einsum, 't');
  insert_label(einsum.a, 0, letter);
  insert_label(einsum.b, 0, letter);
  return text_of(einsum);
}

/// Returns how many steps a loop takes that no condition ends.
std::optional<Dim> steps_of(Module& module, NodeId loop, const KnownTripCounts& counts) {
  const std::vector<Dim> counted = counts.of(loop);
  for (std::size_t i = 0; i < module.node(loop).loop->scanned.size(); ++i)
    if (const auto course = course_of(module, loop, i, counted)) return course->steps;
  if (counted.empty()) return std::nullopt;
  return module.dims.max(0, counted.front());
}

/// Everything that a loop stacks.
struct Stacked {
  std::vector<Dim> sizes;
  std::vector<SizeTerm> bytes;
  std::int64_t elements = 0;  ///< of a step

  void add(const Type& row, const Type& stack) {
    sizes.insert(sizes.end(), stack.dims.begin(), stack.dims.end());
    bytes.push_back({static_cast<std::int64_t>(dtype_bytes(stack.dtype)), stack.dims});
    elements = saturating_sum(elements, known_elements(row));
  }
};

/// Whether the loop scans more sequences backwards than forwards. Then the last step's element
/// comes first in all sequences that are summed over, and scanned sequences need not be stacked
/// again.
bool walks_back(const Module& module, NodeId loop) {
  std::ptrdiff_t back = 0;
  for (const ir::ScannedPort& port : module.node(loop).loop->scanned)
    back += port.stride < 0 ? 1 : -1;
  return back > 0;
}

/// One loop.
class Accumulation {
 public:
  Accumulation(Module& module, NodeId loop, const KnownSizes& sizes, Dim steps,
               ir::ValueMap& results)
      : module_(module),
        loop_(loop),
        map_(results),
        body_(module.node(loop).regions[0]),
        sizes_(sizes),
        sequences_(module, loop, sizes, walks_back(module, loop), steps) {}

  Change run() {
    measure();
    for (const Accumulator& each : accumulators_of(module_, loop_))
      if (can_move(each) && pays(each)) moved_.push_back(each);
    return moved_.empty() ? Change{} : move();
  }

 private:
  [[nodiscard]] const LoopPorts& ports() const { return *module_.node(loop_).loop; }
  [[nodiscard]] const Type& type(ValueId value) const { return module_.value(value).type; }

  /// Whether the value is captured or a constant.
  [[nodiscard]] bool is_same(ValueId value) const {
    const ir::Value& inside = module_.value(value);
    if (inside.producer.valid()) return module_.node(inside.producer).op == &ir::constant_op;
    return inside.index < ports().captured;
  }

  [[nodiscard]] bool can_move(const Accumulator& each) const {
    const Node& product = module_.node(each.product);
    return sizes_.has(module_, product.outputs[0]) &&
           std::ranges::all_of(product.inputs, [&](ValueId operand) {
             return sizes_.has(module_, operand) && type(operand).rank() < tensor::kMaxRank &&
                    !is_same(operand);
           });
  }

  // --- what is stacked

  /// Returns the views that make the value from one that is available, in order. Empty if the value
  /// is available itself, or is to be stacked.
  [[nodiscard]] std::vector<NodeId> views_before(ValueId value) {
    std::vector<NodeId> views;
    while (!sequences_.has(value)) {
      const NodeId id = module_.value(value).producer;
      if (!id.valid() || module_.node(id).op->access != ir::Access::view) return {};
      const std::vector<ValueId>& inputs = module_.node(id).inputs;
      std::vector<bool> varies;
      for (const ValueId input : inputs) varies.push_back(input.valid() && !is_same(input));
      if (!varies[0] || std::ranges::count(varies, true) != 1 ||
          !can_lift(module_, sizes_, id, varies))
        return {};
      views.insert(views.begin(), id);
      value = inputs[0];
    }
    return views;
  }

  /// Whether the sum, which the loop reads and writes in each step, is larger than what is read and
  /// stacked instead: then the product pays, however much it sums. If memory stays within the
  /// limits too, adds the operands to what is to be stacked.
  bool pays(const Accumulator& each) {
    const Node& product = module_.node(each.product);
    std::vector<ValueId> rows;
    Stacked all = stacked_;
    const std::vector<Dim>& sum = type(product.outputs[0]).dims;
    std::vector<SizeTerm> moved_beyond_sum{{-1, sum}};
    for (const ValueId operand : product.inputs) {
      moved_beyond_sum.push_back({1, type(operand).dims});
      if (sequences_.has(operand) || !views_before(operand).empty() || is_row_.contains(operand) ||
          std::ranges::find(rows, operand) != rows.end())
        continue;
      rows.push_back(operand);
      all.add(type(operand), sequence_type(type(operand), 0, sequences_.steps()));
      // Written, and no longer in the cache once the loop is done.
      moved_beyond_sum.push_back({2, type(operand).dims});
    }
    if (!is_positive({{1, sum}, {1 - kMinSummedElements}}) ||
        is_positive(std::move(moved_beyond_sum)))
      return false;
    if (!rows.empty() && !fits(all)) return false;
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    is_row_.insert(rows.begin(), rows.end());
    stacked_ = all;
    return true;
  }

  bool is_positive(std::vector<SizeTerm> terms) {
    return module_.choices.is_positive(module_.dims, std::move(terms));
  }

  bool fits(const Stacked& all) {
    std::vector<SizeTerm> bytes = all.bytes;
    bytes.push_back({-kMaxStackedBytesOfProduct});
    if (is_positive(std::move(bytes))) return false;
    return module_.choices.knows(module_.dims, all.sizes) ||
           all.elements / kMaxScanGrowth <= scanned_;
  }

  /// Measures what is already scanned and stacked.
  void measure() {
    const ir::Region& body = module_.region(body_);
    for (std::size_t i = ports().captured + ports().carried; i < body.args.size(); ++i)
      scanned_ = saturating_sum(scanned_, known_elements(type(body.args[i])));
    for (std::size_t i = 0; i < ports().stacked.size(); ++i)
      stacked_.add(type(body.yields[ports().first_stacked_yield() + i]),
                   type(module_.node(loop_).outputs[ports().carried + i]));
  }

  // --- moving

  Change move() {
    sequences_.stack(rows_, 0);
    Outside outside(module_, loop_);
    std::vector<ValueId> results;
    for (const Accumulator& each : moved_) {
      const auto result = build(outside, each);
      if (!result) {
        outside.take_back();
        sequences_.unstack();
        return {};
      }
      results.push_back(*result);
    }
    outside.put_after();
    KeptPorts kept(ports());
    std::set<NodeId> gone;
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      gone.insert({moved_[i].sum, moved_[i].product});
      kept.carried[moved_[i].carried] = false;
      map_.set(module_.node(loop_).outputs[moved_[i].carried], results[i]);
    }
    std::erase_if(module_.region(body_).nodes, [&](NodeId id) { return gone.contains(id); });
    keep_ports(module_, loop_, kept);
    return {.changed = true};
  }

  /// Makes the initial value plus the product over all steps.
  Expected<ValueId> build(Outside& outside, const Accumulator& each) {
    const Node product = module_.node(each.product);  // by value: adding nodes may move it
    const Node sum = module_.node(each.sum);
    ValueId operands[2];
    for (const std::size_t i : {0, 1}) {
      SCANLOOM_TRY(operands[i], in_order(outside, product.inputs[i]));
    }
    const auto spec = over_steps(*einsum_of(module_, product));
    if (!spec) return fail(Code::internal, "a product cannot be written with one more axis");
    ir::Builder& builder = outside.builder();
    builder.set_location(product.location);
    SCANLOOM_TRY(const ValueId all,
                 builder.op(ops::contract_op, {operands[0], operands[1]}, {{"spec", *spec}}));
    module_.value(all).name = module_.value(product.outputs[0]).name;
    builder.set_location(sum.location);
    const ValueId initial =
        module_.node(loop_).inputs[ports().first_carried_input() + each.carried];
    SCANLOOM_TRY(const ValueId result, builder.op(ops::add_op, {initial, all}));
    if (type(result) != type(sum.outputs[0]))
      return fail(Code::internal, "a sum of products has another type outside of its loop");
    module_.value(result).name = module_.value(sum.outputs[0]).name;
    return result;
  }

  /// Returns the values of all steps, in the order of the sequences.
  Expected<ValueId> in_order(Outside& outside, ValueId operand) {
    const std::vector<NodeId> views = views_before(operand);
    const ValueId there = views.empty() ? operand : module_.node(views.front()).inputs[0];
    if (!outside.has(there)) SCANLOOM_CHECK_OK(sequences_.enter(outside, there));
    for (const NodeId view : views) {
      if (outside.has(module_.node(view).outputs[0])) continue;
      const std::vector<ValueId> inputs = module_.node(view).inputs;
      for (const ValueId input : inputs)
        if (input.valid() && !outside.has(input))
          SCANLOOM_CHECK_OK(outside.add(module_.value(input).producer, {}));
      SCANLOOM_CHECK_OK(outside.add(view, sequences_.steps()));
    }
    return with_steps_along(outside.builder(), outside[operand], 0);
  }

  Module& module_;
  const NodeId loop_;
  ir::ValueMap& map_;  ///< replacements of the results of loops
  const ir::RegionId body_;
  const KnownSizes& sizes_;
  StepSequences sequences_;
  std::vector<Accumulator> moved_;
  std::int64_t scanned_ = 0;   ///< elements of a step
  Stacked stacked_;            ///< including what is to be stacked
  std::vector<ValueId> rows_;  ///< to be stacked
  std::set<ValueId> is_row_;
};

bool has_accumulator(const Module& module) {
  return std::ranges::any_of(nodes_with_regions(module, Order::outer_first), [&](NodeId id) {
    return module.node(id).op == &ir::loop_op && !accumulators_of(module, id).empty();
  });
}

}  // namespace

// Inner loops first: work that leaves one may leave the next.
Expected<Change> accumulate_as_product(ir::Module& module) {
  if (!has_accumulator(module)) return Change{};
  const KnownSizes sizes(module);
  const KnownTripCounts counts(module);
  return sweep_loops(module, [&](NodeId loop, ir::ValueMap& map) {
    if (!takes_all_steps(module, loop)) return Change{};
    const auto steps = steps_of(module, loop, counts);
    if (!steps || !sizes.has(module.dims, *steps)) return Change{};
    return Accumulation(module, loop, sizes, *steps, map).run();
  });
}

}  // namespace scanloom::passes
