#include "passes/loops/accumulators.h"

#include <algorithm>
#include <map>

#include "base/checked.h"
#include "ops/ops.h"
#include "passes/analysis/over_time.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;
using tensor::Einsum;

namespace {

/// How often a body reads each of its values.
using Reads = std::map<ValueId, std::size_t>;

Reads reads_in(const Module& module, ir::RegionId body) {
  Reads reads;
  for (const NodeId id : module.region(body).nodes)
    for (const ValueId input : module.node(id).inputs) ++reads[input];
  for (const ValueId yield : module.region(body).yields) ++reads[yield];
  return reads;
}

/// Returns the accumulator if the carried value sums up products and nothing else reads it.
/// `reads`: the body's.
std::optional<Accumulator> accumulator_of(const Module& module, NodeId loop, std::size_t carried,
                                          const Reads& reads) {
  const Node& node = module.node(loop);
  const ir::RegionId body = node.regions[0];
  const ValueId state = module.region(body).args[node.loop->captured + carried];
  const ValueId next = module.region(body).yields[node.loop->first_carried_yield() + carried];
  const Node* sum = made_by(module, next, ops::add_op);
  if (sum == nullptr || (sum->inputs[0] != state && sum->inputs[1] != state)) return std::nullopt;
  const ValueId addend = sum->inputs[sum->inputs[0] == state ? 1 : 0];
  const NodeId product = module.value(addend).producer;
  const Type& type = module.value(state).type;
  const ValueId initial = node.inputs[node.loop->first_carried_input() + carried];
  const bool one_type = module.value(addend).type == type && module.value(initial).type == type;
  if (!product.valid() || !one_type || !is_real(type) || !einsum_of(module, module.node(product)))
    return std::nullopt;
  for (const ValueId value : {state, next, addend})
    if (reads.at(value) != 1) return std::nullopt;
  return Accumulator{carried, module.value(next).producer, product};
}

/// Returns the product that the value is a view of; nullptr if there is none.
const Node* product_seen_by(const Module& module, ValueId value) {
  while (module.value(value).producer.valid()) {
    const Node& node = module.node(module.value(value).producer);
    if (einsum_of(module, node)) return &node;
    if (node.op->access != ir::Access::view) return nullptr;
    value = node.inputs[0];
  }
  return nullptr;
}

/// Returns how many elements the value has, or a value that it is a view of if that has fewer; 0 if
/// that is not known.
std::int64_t least_elements(const Module& module, ValueId value) {
  const auto elements_of = [&](ValueId each) {
    const Type& type = module.value(each).type;
    return type.is_static() ? known_elements(type) : 0;
  };
  std::int64_t elements = elements_of(value);
  while (module.value(value).producer.valid()) {
    const Node& node = module.node(module.value(value).producer);
    if (node.op->access != ir::Access::view) break;
    value = node.inputs[0];
    elements = std::min(elements, elements_of(value));
  }
  return elements;
}

/// Whether the sum is too small, or smaller than the operands, for certain.
bool is_small(const Module& module, const Type& sum, const Node& product) {
  if (!sum.is_static()) return false;
  const std::int64_t elements = known_elements(sum);
  return elements < kMinSummedElements ||
         saturating_sum(least_elements(module, product.inputs[0]),
                        least_elements(module, product.inputs[1])) > elements;
}

}  // namespace

bool is_real(const Type& type) {
  return type.is_tensor() && (type.dtype == DType::f32 || type.dtype == DType::f64);
}

std::optional<Einsum> einsum_of(const Module& module, const Node& node) {
  const bool outer = node.op == &ops::mul_op;
  if (!outer && node.op != &ops::contract_op) return std::nullopt;
  const Type &a = module.value(node.inputs[0]).type, &b = module.value(node.inputs[1]).type;
  if (!a.ranked || !b.ranked) return std::nullopt;
  const std::string_view spec = outer ? std::string_view("...,...->...") : node.attrs[0].text();
  const auto einsum = tensor::parse_einsum(spec, a.rank(), b.rank());
  if (!einsum || !sizes_fit(a, b, *einsum)) return std::nullopt;
  return *einsum;
}

std::vector<Accumulator> accumulators_of(const Module& module, NodeId loop) {
  const Reads reads = reads_in(module, module.node(loop).regions[0]);
  std::vector<Accumulator> found;
  for (std::size_t i = 0; i < module.node(loop).loop->carried; ++i)
    if (const auto accumulator = accumulator_of(module, loop, i, reads))
      found.push_back(*accumulator);
  return found;
}

bool may_accumulate(const Module& module, NodeId loop) {
  const Node& node = module.node(loop);
  const ir::Region& body = module.region(node.regions[0]);
  if (!takes_all_steps(module, loop)) return false;
  for (std::size_t i = 0; i < node.loop->carried; ++i) {
    const ValueId state = body.args[node.loop->captured + i];
    const Type& type = module.value(state).type;
    const Node* const sum =
        made_by(module, body.yields[node.loop->first_carried_yield() + i], ops::add_op);
    if (sum == nullptr || !is_real(type) ||
        std::ranges::find(sum->inputs, state) == sum->inputs.end())
      continue;
    const Node* const product =
        product_seen_by(module, sum->inputs[sum->inputs[0] == state ? 1 : 0]);
    if (product != nullptr && !is_small(module, type, *product)) return true;
  }
  return false;
}

}  // namespace scanloom::passes
