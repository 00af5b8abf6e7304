// Matrices that a body captures and multiplies by one or a few vectors are transposed once, before
// the loop, where the summed axis is the innermost: the elements that a vector of results takes at
// once then lie side by side.
//
// Bits do not change: there is one summed axis, whose order stays. Constants are left to the
// kernels, which pack them when the model is loaded; loops of few steps, or of a number that only a
// run knows, would not pay for the copy.
#include <algorithm>
#include <utility>

#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/nodes/einsum_text.h"
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

/// Results of so few vectors gain; of more, a kernel packs the matrix as it needs it.
constexpr std::int64_t kMaxVectors = 4;
/// Rows of a matrix from which lanes are worth filling.
constexpr std::int64_t kMinRowsToTranspose = 8;
/// Steps that pay for transposing.
constexpr std::int64_t kMinStepsToTranspose = 8;

/// The product of the sizes but for one axis; nullopt where one is not known.
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

/// The specification for the matrix transposed, where it is one that gains.
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
      // What is a view across by itself already lies as it should.
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
