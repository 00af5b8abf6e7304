// The reverse of a recurrence of one element is affine in its cotangent: l' = a l + b, with a and b
// from what the forward loop kept. As a loop, every step waits for a product and a sum of the step
// before and does nothing meanwhile. This pass walks over blocks of steps instead: it computes a
// and b of a block in vectors, runs affine_scan (opmath/affine_scan.h), which composes steps in a
// tree, and computes everything that reads the cotangents in vectors again. Sums over steps
// (gradients of captured values) are kept separately for each position in a block and joined at the
// end.
//
// The last bits change, so it only takes loops marked `reassociates`, as gradients are. Products of
// a are composed over eight steps at a time; if such a product overflows, these steps are computed
// one by one. States of several elements are not affected: they already fill vectors.
//
// It runs last: a loop over steps can be fused, merged and moved out of, one over blocks cannot,
// and streams are made from loops over steps. Sizes are numbers by then, since functions are
// planned for the sizes that they are called with.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/loops/affine_body.h"
#include "passes/pass.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Builder;
using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

/// Steps of a block: its values stay in the L1 cache, and the calls are a small part of its time.
/// Another number is used if it divides the steps, so that no rows need to be concatenated.
constexpr std::int64_t kBlock = 512, kMinBlock = 256, kMaxBlock = 1024;
/// Sums of a block's positions are first joined in this many lanes; blocks are multiples of it.
constexpr std::int64_t kSumLanes = 16;
/// Fewer steps do not pay for the calls.
constexpr std::int64_t kMinSteps = 2048;
/// The limit for the bytes of all sequences and rows. Above it a step waits for memory, and taking
/// steps one by one overlaps that with computing (f64, 200,000 steps of 40 bytes: 1.9 ns, in blocks
/// 3.4).
constexpr std::int64_t kMaxBytesOfBlocks = 4 << 20;

/// Picoseconds per step, measured on cores of 3.8 GHz with AVX2 and with AVX-512: how long a step
/// waits for each operation between a state and its next value, and the cost of what replaces it.
constexpr std::int64_t kWait = 900;
constexpr std::int64_t kScanOfFloats = 450, kScanOfDoubles = 650;  ///< affine_scan
constexpr std::int64_t kPassOfFloats = 80, kPassOfDoubles = 130;   ///< one operation in vectors

/// Returns the number of steps of a block.
std::int64_t steps_of_block(std::int64_t steps) {
  std::int64_t best = kBlock;
  for (std::int64_t block = kMinBlock; block <= kMaxBlock; block += kSumLanes)
    if (steps % block == 0 && (steps % best != 0 || block <= kBlock)) best = block;
  return best;
}

bool is_candidate(const Module& module, NodeId id) {
  const Node& node = module.node(id);
  return node.op == &ir::loop_op && node.loop->reassociates && !node.loop->scanned.empty() &&
         !is_in_loop(module, node.parent);
}

/// One loop.
class Blocks {
 public:
  Blocks(Module& module, NodeId loop, ir::ValueMap& results)
      : module_(module),
        loop_(loop),
        map_(results),
        ports_(*module.node(loop).loop),
        parent_(module.node(loop).parent) {}

  Change run() {
    if (!find_course()) return {};
    body_ = AffineBody::of(module_, loop_);
    if (!body_ || !pays()) return {};
    const std::size_t before = module_.region(parent_).nodes.size();
    if (!build()) {
      module_.region(parent_).nodes.resize(before);
      return {};
    }
    for (const auto& [from, to] : replacements_) map_.set(from, to);
    std::erase(module_.region(parent_).nodes, loop_);
    return {.changed = true};
  }

 private:
  /// Whether the loop takes many steps, and walks over all elements of its sequences in one
  /// direction.
  bool find_course() {
    const Node& node = module_.node(loop_);
    if (!runs_to_the_end(module_, node)) return false;
    const auto steps = known_steps(module_, node);
    if (!steps || *steps < kMinSteps) return false;
    steps_ = *steps;
    block_ = steps_of_block(steps_);
    backward_ = ports_.scanned.front().stride < 0;
    for (std::size_t i = 0; i < ports_.scanned.size(); ++i) {
      const ir::ScannedPort& port = ports_.scanned[i];
      if (port.part != 1 || !port.squeeze || port.start != (backward_ ? -1 : 0) ||
          port.stride != (backward_ ? -1 : 1) || known_slices(module_, node, i) != steps_)
        return false;
    }
    return std::ranges::all_of(ports_.stacked, [&](const ir::StackedPort& port) {
      return port.insert && port.reverse == backward_;
    });
  }

  /// Whether the wait in a step is longer, by some margin, than the time in blocks, and the gain is
  /// not undone by copying rows that are far apart.
  [[nodiscard]] bool pays() const {
    const bool doubles = dtype_of_state(0) == DType::f64;
    if (doubles && first_steps() > 0 && !ports_.stacked.empty()) return false;
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < ports_.scanned.size(); ++i)
      bytes += row_bytes(input(ports_.first_scanned_input() + i));
    for (std::size_t i = 0; i < ports_.stacked.size(); ++i)
      bytes += row_bytes(module_.node(loop_).outputs[ports_.carried + i]);
    if (steps_ > kMaxBytesOfBlocks / bytes) return false;
    const auto nodes =
        static_cast<std::int64_t>(module_.region(module_.node(loop_).regions[0]).nodes.size());
    const std::int64_t waits = kWait * body_->longest_path();
    const std::int64_t scans = body_->chain_count() * (doubles ? kScanOfDoubles : kScanOfFloats);
    const std::int64_t passes = (nodes + 1) * (doubles ? kPassOfDoubles : kPassOfFloats);
    return waits >= (scans + passes) * 5 / 4;
  }

  [[nodiscard]] std::int64_t row_bytes(ValueId value) const {
    return static_cast<std::int64_t>(dtype_bytes(module_.value(value).type.dtype));
  }

  [[nodiscard]] std::int64_t blocks() const { return steps_ / block_; }
  [[nodiscard]] std::int64_t first_steps() const { return steps_ % block_; }
  [[nodiscard]] ValueId input(std::size_t i) const { return module_.node(loop_).inputs[i]; }
  [[nodiscard]] ValueId initial(std::size_t state) const {
    return input(ports_.first_carried_input() + state);
  }
  [[nodiscard]] DType dtype_of_state(std::size_t state) const {
    return module_.value(initial(state)).type.dtype;
  }

  Expected<void> build() {
    Builder builder(module_, parent_);
    builder.set_location(module_.node(loop_).location);
    std::optional<StepRows> first;
    if (first_steps() > 0) {
      SCANLOOM_TRY(first, rows_of_first_steps(builder));
    }
    SCANLOOM_TRY(const NodeId blocks, loop_over_blocks(builder, first));
    return add_results(builder, blocks, first);
  }

  /// Returns the elements of a sequence that belong to the first steps.
  Expected<ValueId> first_part(Builder& builder, ValueId sequence) const {
    const std::int64_t begin = backward_ ? steps_ - first_steps() : 0;
    return builder.op(ops::slice_op,
                      {sequence, list_of(builder, {begin}),
                       list_of(builder, {begin + first_steps()}), list_of(builder, {0})});
  }

  /// The steps left over by blocks come before them, as one block.
  Expected<StepRows> rows_of_first_steps(Builder& builder) const {
    std::vector<ValueId> arguments, initial_states;
    for (std::uint32_t i = 0; i < ports_.captured; ++i)
      arguments.push_back(input(ports_.first_captured_input() + i));
    for (std::uint32_t i = 0; i < ports_.carried; ++i) arguments.push_back(initial(i));
    for (std::size_t i = 0; i < ports_.scanned.size(); ++i) {
      SCANLOOM_TRY(const ValueId rows,
                   first_part(builder, input(ports_.first_scanned_input() + i)));
      arguments.push_back(rows);
    }
    return body_->rows(builder, arguments, first_steps(), backward_);
  }

  Expected<NodeId> loop_over_blocks(Builder& builder, const std::optional<StepRows>& first) {
    LoopPorts ports{.has_trip_count = true, .fixed_sizes = true};
    ports.captured = ports_.captured;
    ports.carried = ports_.carried;
    ports.scanned.assign(ports_.scanned.size(),
                         {.start = backward_ ? -1 - first_steps() : first_steps(),
                          .stride = backward_ ? -block_ : block_,
                          .part = block_,
                          .squeeze = false});
    ports.stacked.assign(ports_.stacked.size(), {.reverse = backward_, .insert = false});
    std::vector<ValueId> inputs{
        builder.constant(tensor::Tensor::of<std::int64_t>({}, {{blocks()}}))};
    for (std::uint32_t i = 0; i < ports.captured; ++i)
      inputs.push_back(input(ports_.first_captured_input() + i));
    for (std::uint32_t i = 0; i < ports.carried; ++i) {
      SCANLOOM_TRY(const ValueId start, initial_of_blocks(builder, i, first));
      inputs.push_back(start);
    }
    for (std::size_t i = 0; i < ports.scanned.size(); ++i)
      inputs.push_back(input(ports_.first_scanned_input() + i));
    std::vector<Type> results;
    for (std::uint32_t i = 0; i < ports.carried; ++i) results.push_back(type_of_state(i));
    for (std::size_t i = 0; i < ports.stacked.size(); ++i)
      results.push_back(Type::of(dtype_of_row(i), {tensor::Dim(blocks() * block_)}));
    const NodeId made = module_.add_node(parent_, ir::loop_op, inputs, {}, std::move(results),
                                         module_.node(loop_).location);
    module_.node(made).loop = ports;
    const ir::RegionId region = module_.add_region(made);
    module_.node(made).regions = {region};
    SCANLOOM_CHECK_OK(fill_body(region, inputs));
    return made;
  }

  [[nodiscard]] DType dtype_of_row(std::size_t stacked) const {
    return module_.value(module_.node(loop_).outputs[ports_.carried + stacked]).type.dtype;
  }

  [[nodiscard]] Type type_of_state(std::size_t state) const {
    if (!body_->is_sum(state)) return Type::scalar(dtype_of_state(state));
    return Type::of(dtype_of_state(state), {tensor::Dim(block_)});
  }

  /// A chain continues from the first steps; a sum begins with the sum of these, and zeros.
  Expected<ValueId> initial_of_blocks(Builder& builder, std::size_t state,
                                      const std::optional<StepRows>& first) const {
    if (!body_->is_sum(state)) return first ? first->states[state] : initial(state);
    if (!first) {
      SCANLOOM_TRY(auto zeros, tensor::Tensor::zeros(dtype_of_state(state), {block_}));
      return builder.constant(std::move(zeros));
    }
    return builder.op(ops::pad_op,
                      {first->states[state], list_of(builder, {0, block_ - first_steps()})},
                      {{"mode", "constant"}});
  }

  Expected<void> fill_body(ir::RegionId region, const std::vector<ValueId>& inputs) {
    std::vector<ValueId> arguments;
    for (std::uint32_t i = 0; i < ports_.argument_count(); ++i) {
      Type type = module_.value(inputs[1 + i]).type;
      if (i >= ports_.captured + ports_.carried) type.dims = {tensor::Dim(block_)};
      arguments.push_back(module_.add_argument(region, std::move(type)));
    }
    Builder builder(module_, region);
    builder.set_location(module_.node(loop_).location);
    SCANLOOM_TRY(const StepRows rows, body_->rows(builder, arguments, block_, backward_));
    std::vector<ValueId> yields;
    for (std::uint32_t i = 0; i < ports_.carried; ++i) {
      ValueId next = rows.states[i];
      if (body_->is_sum(i)) {
        SCANLOOM_TRY(next, builder.op(ops::add_op, {arguments[ports_.captured + i], next}));
      }
      yields.push_back(next);
    }
    yields.insert(yields.end(), rows.stacked.begin(), rows.stacked.end());
    module_.region(region).yields = std::move(yields);
    return {};
  }

  Expected<void> add_results(Builder& builder, NodeId blocks,
                             const std::optional<StepRows>& first) {
    for (std::uint32_t i = 0; i < ports_.carried; ++i) {
      ValueId final = module_.node(blocks).outputs[i];
      if (body_->is_sum(i)) {
        SCANLOOM_TRY(const ValueId total, joined(builder, final));
        SCANLOOM_TRY(final, builder.op(ops::add_op, {initial(i), total}));
      }
      SCANLOOM_CHECK_OK(put(i, final));
    }
    for (std::uint32_t i = 0; i < ports_.stacked.size(); ++i) {
      ValueId all = module_.node(blocks).outputs[ports_.carried + i];
      if (first) {
        std::vector<ValueId> parts{first->stacked[i], all};
        if (backward_) std::swap(parts[0], parts[1]);
        SCANLOOM_TRY(all, builder.op(ops::concat_op, parts, {{"axis", 0}}));
      }
      SCANLOOM_CHECK_OK(put(ports_.carried + i, all));
    }
    return {};
  }

  /// Joins the sum of a block's positions.
  static Expected<ValueId> joined(Builder& builder, ValueId sums) {
    SCANLOOM_TRY(
        const ValueId lanes,
        builder.op(ops::reshape_op, {sums, list_of(builder, {-1, kSumLanes})}, {{"allowzero", 0}}));
    SCANLOOM_TRY(
        const ValueId few,
        builder.op(ops::reduce_op, {lanes},
                   {{"kind", "sum"}, {"axes", std::vector<std::int64_t>{0}}, {"keepdims", 0}}));
    return builder.op(ops::reduce_op, {few}, {{"kind", "sum"}, {"keepdims", 0}});
  }

  Expected<void> put(std::size_t output, ValueId value) {
    const ValueId result = module_.node(loop_).outputs[output];
    if (module_.value(value).type != module_.value(result).type)
      return fail(Code::internal, "{} has other sizes in blocks", module_.describe(result));
    replacements_.emplace_back(result, value);
    return {};
  }

  Module& module_;
  const NodeId loop_;
  ir::ValueMap& map_;
  const LoopPorts ports_;  ///< by value: adding nodes may move them
  const ir::RegionId parent_;
  std::optional<AffineBody> body_;
  std::int64_t steps_ = 0, block_ = 0;
  bool backward_ = false;
  std::vector<std::pair<ValueId, ValueId>> replacements_;  ///< of the loop's results
};

}  // namespace

/// Whether some loop may be computed in another order.
bool has_gradients(const ir::Module& module) {
  return std::ranges::any_of(module.region(module.top()).nodes,
                             [&](NodeId id) { return is_candidate(module, id); });
}

Expected<Change> affine_backward(ir::Module& module) {
  return sweep_loops(module, [&](NodeId loop, ir::ValueMap& map) {
    return is_candidate(module, loop) ? Blocks(module, loop, map).run() : Change{};
  });
}

}  // namespace scanloom::passes
