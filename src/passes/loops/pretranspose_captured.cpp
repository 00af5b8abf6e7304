// Transposes matrices that a body captures and multiplies by one or a few vectors, once, before the
// loop, if the summed axis is the innermost: the elements that a vector of results needs at once
// are then contiguous.
//
// Bits do not change: there is one summed axis, whose order stays. Constants are left to the
// kernels, which pack them when the model is loaded. Loops of few steps, or of a number of steps
// known only at run time, would not pay for the copy.
#include <algorithm>
#include <utility>

#include "opmath/einsum_text.h"
#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/pass.h"
#include "passes/rewrite/outside.h"
#include "passes/rewrite/ports.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;
using tensor::Einsum;
using tensor::Subscripts;

/// Up to this many vectors gain; for more, a kernel packs the matrix as it needs it.
constexpr std::int64_t kMaxVectors = 4;
/// The number of rows of a matrix from which on it is worth filling lanes.
constexpr std::int64_t kMinRowsToTranspose = 8;
/// The number of steps that pays for transposing.
constexpr std::int64_t kMinStepsToTranspose = 8;

/// Returns the product of the sizes except that of one axis; nullopt if one is not known.
std::optional<std::int64_t> elements_but(const Type& type, int axis) {
  std::int64_t count = 1;
  for (int i = 0; i < type.rank(); ++i) {
    if (i == axis) continue;
    const ir::Dim dim = type.dims[static_cast<std::size_t>(i)];
    if (!dim.is_constant() || __builtin_mul_overflow(count, dim.value(), &count))
      return std::nullopt;
  }
  return count;
}

/// Returns the specification with the matrix transposed, if that gains.
std::optional<std::string> turned(const Module& module, const Node& node, std::size_t matrix) {
  const Type& own = module.value(node.inputs[matrix]).type;
  const Type& other = module.value(node.inputs[1 - matrix]).type;
  if (!own.ranked || !other.ranked || own.rank() != 2) return std::nullopt;
  const int rank_a = (matrix == 0 ? own : other).rank(),
            rank_b = (matrix == 0 ? other : own).rank();
  const auto parsed = tensor::parse_einsum(node.attrs[0].text(), rank_a, rank_b);
  if (!parsed) return std::nullopt;
  Einsum einsum = *parsed;
  Subscripts& labels = matrix == 0 ? einsum.a : einsum.b;
  const Subscripts& others = matrix == 0 ? einsum.b : einsum.a;
  const std::uint8_t row = labels.labels[0], summed = labels.labels[1];
  const int across = others.find(summed);
  if (across < 0 || einsum.out.find(summed) >= 0 || others.find(row) >= 0 ||
      einsum.out.find(row) < 0)
    return std::nullopt;
  const ir::Dim rows = own.dims[0];
  const auto vectors = elements_but(other, across);
  if (!rows.is_constant() || rows.value() < kMinRowsToTranspose || !vectors ||
      *vectors > kMaxVectors)
    return std::nullopt;
  std::swap(labels.labels[0], labels.labels[1]);
  return text_of(einsum);
}

/// One loop.
Expected<Change> turn(Module& module, NodeId loop) {
  const ir::RegionId body = module.node(loop).regions[0];
  const std::size_t captured = module.node(loop).loop->captured;
  Change change;
  const std::vector<NodeId> nodes = module.region(body).nodes;
  for (const NodeId id : nodes) {
    if (module.node(id).op != &ops::contract_op) continue;
    for (const std::size_t operand : {0, 1}) {
      const ValueId value = module.node(id).inputs[operand];
      const ir::Value& argument = module.value(value);
      if (argument.producer.valid() || argument.region != body || argument.index >= captured)
        continue;
      auto spec = turned(module, module.node(id), operand);
      if (!spec) continue;
      Outside outside(module, loop);
      // A value that is a transposed view is already stored as it should be.
      if (made_by(module, outside[value].value, ops::transpose_op) != nullptr) continue;
      SCANLOOM_TRY(const ValueId transposed,
                   outside.builder().op(ops::transpose_op, {outside[value].value},
                                        {{"perm", std::vector<std::int64_t>{1, 0}}}));
      SCANLOOM_TRY(const ValueId dense, outside.builder().op(ops::dense_op, {transposed}));
      outside.put_before();
      module.node(id).inputs[operand] = add_captured(module, loop, {{dense}})[0];
      module.node(id).attrs[0] = *std::move(spec);
      change.changed = true;
    }
  }
  return change;
}

}  // namespace

Expected<Change> pretranspose_captured(ir::Module& module) {
  Change change;
  for (const NodeId id : nodes_with_regions(module, Order::inner_first)) {
    if (module.node(id).op != &ir::loop_op) continue;
    auto steps = known_trip_count(module, module.node(id));
    if (!steps) steps = counted_steps(module, module.node(id));
    if (!steps || *steps == ir::kEndlessTripCount || *steps < kMinStepsToTranspose) continue;
    SCANLOOM_TRY(const Change changed, turn(module, id));
    change |= changed;
  }
  return change;
}

}  // namespace scanloom::passes
