// Turns a product that is only added or subtracted into mul_add, which rounds once on machines with
// fused multiply-add, as C compilers do by default. A step then waits for one operation instead of
// two. Only in the bodies of loops: elsewhere memory is what takes time. As in C compilers, every
// use of a product must become one; otherwise it would be computed twice.
//
// The last bits change, so it only runs with Numerics::fast, and last, because passes look for
// products and sums.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/loops/chosen_loops.h"
#include "passes/pass.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool is_sum_or_difference(const Node& node) {
  return node.op == &ops::add_op || node.op == &ops::sub_op;
}

bool is_fusible_type(const Module& module, ValueId value) {
  const ir::Type& type = module.value(value).type;
  return type.is_tensor() && type.ranked && (type.dtype == DType::f32 || type.dtype == DType::f64);
}

/// Whether the node is a product whose size is that of the sum.
bool is_fusible(const Module& module, const Node& sum, ValueId operand) {
  const Node* const product = made_by(module, operand, ops::mul_op);
  return product != nullptr && is_fusible_type(module, operand) &&
         module.value(operand).type == module.value(sum.outputs[0]).type;
}

/// The products of a region whose every use is in a sum of the region.
class FusibleProducts {
 public:
  FusibleProducts(const Module& module, ir::RegionId region) : module_(module) {
    for (const ValueId yield : module.region(region).yields) ++other_uses_[yield];
    for (const NodeId id : module.region(region).nodes) count_uses(module.node(id));
  }

  [[nodiscard]] bool has(const Node& sum, ValueId operand) const {
    return is_fusible(module_, sum, operand) && !other_uses_.contains(operand);
  }

 private:
  void count_uses(const Node& node) {
    // Of two products, the first is fused with the sum.
    const bool first = is_sum_or_difference(node) && is_fusible(module_, node, node.inputs[0]);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool fuses = is_sum_or_difference(node) && is_fusible(module_, node, node.inputs[i]) &&
                         (i == 0 || !first);
      if (!fuses && node.inputs[i].valid()) ++other_uses_[node.inputs[i]];
    }
  }

  const Module& module_;
  std::map<ValueId, int> other_uses_;
};

/// Whether the region is in one of those loops, at any depth.
bool is_in(const Module& module, ir::RegionId region, const WhichLoops& which) {
  for (NodeId owner = module.region(region).owner; owner.valid();
       owner = module.region(module.node(owner).parent).owner)
    if (module.node(owner).op == &ir::loop_op && which(owner)) return true;
  return false;
}

std::map<ir::RegionId, FusibleProducts> products_in(const Module& module, const WhichLoops& which) {
  std::map<ir::RegionId, FusibleProducts> products;
  for (const ir::RegionId region : ir::regions_outer_first(module, module.top()))
    if (is_in(module, region, which)) products.try_emplace(region, module, region);
  return products;
}

}  // namespace

/// Whether some body has a product and a sum.
bool has_products_in_loops(const Module& module) {
  return std::ranges::any_of(
      ir::regions_outer_first(module, module.top()), [&](ir::RegionId region) {
        return is_in_loop(module, region) &&
               std::ranges::any_of(module.region(region).nodes, [&](NodeId id) {
                 const Node& node = module.node(id);
                 return is_sum_or_difference(node) && (is_fusible(module, node, node.inputs[0]) ||
                                                       is_fusible(module, node, node.inputs[1]));
               });
      });
}

Expected<Change> fuse_multiply_add_in(Module& module, const WhichLoops& which) {
  Rewriter rewriter(module);
  const std::map<ir::RegionId, FusibleProducts> products = products_in(module, which);
  const auto rule = [&](Rewriter& rewrite, NodeId id) -> Expected<bool> {
    const Node node = module.node(id);  // by value: adding nodes may move it
    const auto fusible = products.find(node.parent);
    if (!is_sum_or_difference(node) || fusible == products.end()) return false;
    const std::size_t side = fusible->second.has(node, node.inputs[0]) ? 0 : 1;
    if (!fusible->second.has(node, node.inputs[side])) return false;
    const Node product = *made_by(module, node.inputs[side], ops::mul_op);
    ValueId a = product.inputs[0], c = node.inputs[1 - side];
    if (node.op == &ops::sub_op) {
      ValueId& negated = side == 0 ? c : a;
      SCANLOOM_TRY(negated, rewrite.build().op(ops::neg_op, {negated}));
    }
    SCANLOOM_TRY(const ValueId result,
                 rewrite.build().op(ops::mul_add_op, {a, product.inputs[1], c}));
    rewrite.replace(node.outputs[0], result);
    return true;
  };
  SCANLOOM_TRY(const Change change, rewriter.sweep(rule));
  if (change.changed) SCANLOOM_CHECK_OK(drop_dead_code(module));
  return change;
}

Expected<Change> fuse_multiply_add(ir::Module& module) {
  return fuse_multiply_add_in(module, [](NodeId) { return true; });
}

}  // namespace scanloom::passes
