#include "passes/analysis/over_time.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "opmath/contraction.h"
#include "ops/loop_counters.h"
#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;
using tensor::Subscripts;

// From this many rows per step on, the product of one step is as fast as that of all steps, and
// storing the results of all steps makes the loop slower.
constexpr std::int64_t kManyRows = 16;
// Below this depth a product of one row takes little more time than writing its result and reading
// it again: compiled, the loop is up to a sixth faster with the product inside.
constexpr std::int64_t kMinDepth = 16;
/// How many times as large as its operand a result may be.
constexpr std::int64_t kMaxWidening = 16;

// Calling a kernel that has no plan of its own takes as long as sorting, summing or pooling 16 to
// 64 elements. From 256 elements on there is no gain left, and steps without a state have threads
// of their own. A convolution is as fast within a step, but only the one of all steps is shared
// among threads; beyond 512 elements its results leave the cache before they are read.
constexpr std::int64_t kMaxOfCall = 256;
constexpr std::int64_t kMaxOfConvolution = 512;

/// Returns the only element of the value; nullopt if it is not known, or there are several.
std::optional<Dim> only_integer(const ir::Known& known) {
  if (known.integers && known.integers->size() == 1) return known.integers->front();
  const auto numbers = known.tensor ? tensor::to_integers(*known.tensor) : std::nullopt;
  if (!numbers || numbers->size() != 1) return std::nullopt;
  return numbers->front();
}

std::int64_t product_or_most(std::span<const std::int64_t> sizes) {
  return checked_product(sizes).value_or(std::numeric_limits<std::int64_t>::max());
}

/// Returns the product of the sizes of those axes of an operand whose labels are in `with` but not
/// in `without`. A size that is not a number counts as `unknown`.
std::int64_t span_of(const Subscripts& operand, const Type& type, const Subscripts& with,
                     const Subscripts& without, std::int64_t unknown) {
  std::vector<std::int64_t> sizes;
  for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
    const std::uint8_t label = operand.labels[axis];
    if (with.find(label) < 0 || without.find(label) >= 0) continue;
    sizes.push_back(type.dims[axis].is_constant() ? type.dims[axis].value() : unknown);
  }
  return product_or_most(sizes);
}

/// Whether the product of all steps takes less time than that of each step.
bool product_gains_over_time(const Module& module, const Node& node,
                             const std::vector<bool>& varies) {
  if (varies[0] == varies[1]) return false;
  const Type &a = module.value(node.inputs[0]).type, &b = module.value(node.inputs[1]).type;
  // Other types have no kernel that packs and blocks.
  if (a.dtype != DType::f32 && a.dtype != DType::f64) return false;
  const auto einsum = tensor::parse_einsum(node.attrs[0].text(), a.rank(), b.rank());
  if (!einsum) return false;
  const Subscripts &own = varies[0] ? einsum->a : einsum->b,
                   &other = varies[0] ? einsum->b : einsum->a;
  const Type& type = varies[0] ? a : b;
  const std::int64_t rows = span_of(own, type, einsum->out, other, 1);
  const std::int64_t depth = span_of(own, type, other, einsum->out, kMinDepth);
  // The results of all steps are in memory at once.
  const std::int64_t width = span_of(other, varies[0] ? b : a, einsum->out, own, 1);
  return rows < kManyRows && depth >= kMinDepth && width / depth <= kMaxWidening;
}

}  // namespace

bool takes_all_steps(const Module& module, NodeId loop) {
  const Node& node = module.node(loop);
  const LoopPorts& ports = *node.loop;
  if (ports.has_condition && !ir::is_true(constant_of(module, node.inputs[ports.has_trip_count])))
    return false;
  return !ports.has_keep_going ||
         ir::is_true(constant_of(module, module.region(node.regions[0]).yields[0]));
}

// The table of sizes is copied, so that a module that does not change keeps its own.
KnownTripCounts::KnownTripCounts(const Module& module) : module_(module) {
  std::vector<Type> arguments;
  for (const ValueId arg : module_.region(module_.top()).args)
    arguments.push_back(module_.value(arg).type);
  tensor::DimTable dims = module_.dims;
  first_unknown_ = dims.size();
  if (auto inference = infer(module_, arguments, dims)) known_ = std::move(inference->known);
}

std::vector<Dim> KnownTripCounts::of(NodeId loop) const {
  std::vector<Dim> counts;
  if (module_.node(loop).loop->has_trip_count) add(module_.node(loop).inputs[0], counts);
  return counts;
}

// Also follows values that must equal the count: if they do not, the loop is not reached.
void KnownTripCounts::add(ValueId value, std::vector<Dim>& counts) const {
  constexpr std::size_t kMaxFollowed = 64;
  std::vector<ValueId> pending{value};
  for (std::size_t i = 0; i < pending.size() && i < kMaxFollowed; ++i) {
    const ValueId next = pending[i];
    const ir::Known* known = next.index < known_.size() ? known_[next.index].get() : nullptr;
    if (const auto count = known != nullptr ? only_integer(*known) : std::nullopt)
      if (count->is_constant() || count->expr() < first_unknown_) counts.push_back(*count);
    if (const Node* check = made_by(module_, next, ops::check_equal_op))
      pending.insert(pending.end(), check->inputs.begin(), check->inputs.end());
  }
}

std::optional<Course> course_of(const Module& module, NodeId loop, std::size_t scanned,
                                const std::vector<Dim>& counts) {
  const Node& node = module.node(loop);
  const LoopPorts& ports = *node.loop;
  const ir::ScannedPort& port = ports.scanned[scanned];
  const bool forward = port.start == 0 && port.stride == 1;
  const bool backward = port.start == -1 && port.stride == -1;
  if (port.part != 1 || (!forward && !backward)) return std::nullopt;
  const Type& type = module.value(node.inputs[ports.first_scanned_input() + scanned]).type;
  if (!type.is_tensor() || !type.ranked || type.rank() == tensor::kMaxRank) return std::nullopt;
  const Dim steps = type.dims[static_cast<std::size_t>(port.axis)];
  if (ports.has_trip_count && std::ranges::find(counts, steps) == counts.end()) return std::nullopt;
  return Course{backward, steps};
}

std::optional<std::vector<Course>> courses_of(const Module& module, NodeId loop,
                                              const std::vector<Dim>& counts,
                                              const KnownSizes& sizes) {
  std::vector<Course> courses;
  for (std::size_t i = 0; i < module.node(loop).loop->scanned.size(); ++i) {
    const auto course = course_of(module, loop, i, counts);
    if (!course || !sizes.has(module.dims, course->steps)) return std::nullopt;
    if (i > 0 && course->steps != courses.front().steps) return std::nullopt;
    courses.push_back(*course);
  }
  return courses;
}

// A slice that keeps its axis has size 1 there.
Expected<Lifted> scanned_sequence(ir::Builder& builder, NodeId loop, std::size_t scanned) {
  const LoopPorts& ports = *builder.module().node(loop).loop;
  const ir::ScannedPort port = ports.scanned[scanned];
  ValueId value = builder.module().node(loop).inputs[ports.first_scanned_input() + scanned];
  if (!port.squeeze) {
    SCANLOOM_TRY(value, builder.op(ops::unsqueeze_op, {value},
                                   {{"axes", std::vector<std::int64_t>{port.axis + 1}}}));
  }
  return Lifted{value, static_cast<int>(port.axis)};
}

bool may_gain_over_time(const ir::OpDef& op) { return op.batching != ir::Batching::no_gain; }

bool gains_over_time(const Module& module, const Node& node, const std::vector<bool>& varies,
                     bool parallel_steps) {
  const std::int64_t results = known_elements(module.value(node.outputs[0]).type);
  switch (node.op->batching) {
    case ir::Batching::no_gain:
      return false;
    case ir::Batching::convolution:
      return !parallel_steps && results <= kMaxOfConvolution;
    case ir::Batching::call:
      return std::max(results, known_elements(module.value(node.inputs[0]).type)) <= kMaxOfCall;
    case ir::Batching::product:
      return product_gains_over_time(module, node, varies);
  }
  return false;
}

std::optional<std::vector<std::int64_t>> increments_of(const Module& module, NodeId loop) {
  std::vector<std::int64_t> increments;
  for (std::uint32_t i = 0; i < module.node(loop).loop->carried; ++i) {
    const auto increment = ops::increment_of(module, loop, i);
    if (!increment) return std::nullopt;
    increments.push_back(*increment);
  }
  return increments;
}

bool runs_parallel_steps(const Module& module, NodeId loop) {
  return !is_in_loop(module, module.node(loop).parent) && increments_of(module, loop).has_value();
}

std::int64_t known_elements(const Type& type) {
  std::vector<std::int64_t> sizes;
  for (const Dim dim : type.dims)
    if (dim.is_constant()) sizes.push_back(dim.value());
  return product_or_most(sizes);
}

}  // namespace scanloom::passes
