#include "passes/analysis/body_kinds.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "ops/element_program.h"
#include "ops/ops.h"
#include "ops/pointwise.h"
#include "passes/analysis/over_time.h"
#include "passes/rewrite/rewriter.h"
#include "tensor/scalar_functions.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

/// 32 vectors of 64 bytes. Matrices that fit stay in registers from step to step. Two layers of
/// eight gated units each, which together need more, take 1.6 times as long in one loop.
constexpr std::int64_t kRegisterBytes = 2048;

/// Whether every node may be part of an element program, or is a constant.
bool is_pointwise(const Module& module, ir::RegionId body) {
  return std::ranges::all_of(module.region(body).nodes, [&](NodeId id) {
    const ir::OpDef* op = module.node(id).op;
    return op == &ir::constant_op || ops::joins_element_program(*op);
  });
}

/// Bytes of the matrices that a step multiplies by and that are the same in every step.
std::int64_t matrix_bytes(const Module& module, const Node& loop) {
  const ir::Region& body = module.region(loop.regions[0]);
  std::set<ValueId> same(body.args.begin(), body.args.begin() + loop.loop->captured), matrices;
  const auto is_same = [&](ValueId value) { return !value.valid() || same.contains(value); };
  for (const NodeId id : body.nodes) {
    const Node& node = module.node(id);
    if (std::ranges::all_of(node.inputs, is_same))
      same.insert(node.outputs.begin(), node.outputs.end());
    else if (node.op == &ops::contract_op)
      std::ranges::copy_if(node.inputs, std::inserter(matrices, matrices.end()), is_same);
  }
  std::int64_t bytes = 0;
  for (const ValueId matrix : matrices) {
    const Type& type = module.value(matrix).type;
    bytes += known_elements(type) * static_cast<std::int64_t>(dtype_bytes(type.dtype));
  }
  return bytes;
}

}  // namespace

std::vector<ValueId> values_of(const Module& module, ir::RegionId body) {
  std::vector<ValueId> values = module.region(body).args;
  for (const NodeId id : module.region(body).nodes)
    values.insert(values.end(), module.node(id).outputs.begin(), module.node(id).outputs.end());
  return values;
}

Dim elements_of(Module& module, const Type& type) {
  Dim elements = 1;
  for (const Dim size : type.dims) elements = module.dims.mul(elements, size);
  return elements;
}

std::optional<Dim> lanes_of(Module& module, ir::RegionId body) {
  if (!is_pointwise(module, body)) return std::nullopt;
  ops::EqualLanes<Dim> lanes;
  for (const ValueId value : values_of(module, body)) {
    const NodeId producer = module.value(value).producer;
    if (producer.valid() && module.node(producer).op == &ir::constant_op) continue;
    if (!lanes.add(elements_of(module, module.value(value).type))) return std::nullopt;
  }
  return lanes.lanes();
}

bool is_function(const Module& module, NodeId id) {
  const Node& node = module.node(id);
  if (node.op->scalar == nullptr) return false;
  std::vector<std::optional<DType>> inputs;
  for (const ValueId input : node.inputs)
    inputs.push_back(input.valid() ? std::optional(module.value(input).type.dtype) : std::nullopt);
  return std::ranges::any_of(
      ops::pointwise_program(*node.op, inputs, node.attrs).instrs,
      [](const tensor::ScalarInstr& instr) { return tensor::is_function(instr.op); });
}

bool crowds_registers(const Module& module, const Node& a, const Node& b) {
  const std::int64_t of_a = matrix_bytes(module, a), of_b = matrix_bytes(module, b);
  return std::min(of_a, of_b) > 0 && std::min(of_a, of_b) <= kRegisterBytes &&
         of_a + of_b > kRegisterBytes;
}

}  // namespace scanloom::passes
