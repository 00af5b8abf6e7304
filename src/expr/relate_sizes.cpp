#include "expr/relate_sizes.h"

#include <algorithm>
#include <map>

#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/walk.h"
#include "opmath/contraction.h"
#include "ops/ops.h"

namespace scanloom::expr {
namespace {

using tensor::Dim;
using tensor::Type;

/// Maps each symbol to its representative symbol or number.
class Equalities {
 public:
  explicit Equalities(const ir::Module& module) : module_(module) {}

  /// Returns whether something new was learned.
  bool add(Dim a, Dim b) {
    a = representative(a);
    b = representative(b);
    if (a == b || (!is_symbol(a) && !is_symbol(b))) return false;
    if (!is_symbol(a) || (is_symbol(b) && b.expr() > a.expr())) std::swap(a, b);
    // A size of 1 is broadcast, and anything other than a number or a symbol may be 1.
    if (b == Dim(1) || (!b.is_constant() && !is_symbol(b))) return false;
    of_[a] = b;
    return true;
  }
  [[nodiscard]] Dim representative(Dim dim) const {
    for (auto at = of_.find(dim); at != of_.end(); at = of_.find(dim)) dim = at->second;
    return dim;
  }

 private:
  [[nodiscard]] bool is_symbol(Dim dim) const {
    return !dim.is_constant() && module_.dims.node(dim.expr()).kind == tensor::DimKind::symbol;
  }

  const ir::Module& module_;
  std::map<Dim, Dim> of_;
};

bool relate(const Type& a, const Type& b, Equalities& equal) {
  if (!a.ranked || !b.ranked) return false;
  bool learned = false;
  const std::size_t shared = std::min(a.dims.size(), b.dims.size());
  for (std::size_t i = 1; i <= shared; ++i)
    learned |= equal.add(a.dims[a.dims.size() - i], b.dims[b.dims.size() - i]);
  return learned;
}

/// Relates axes of the factors that have the same label.
bool relate_factors(const ir::Module& module, const ir::Node& node, Equalities& equal) {
  const Type &a = module.value(node.inputs[0]).type, &b = module.value(node.inputs[1]).type;
  if (!a.ranked || !b.ranked) return false;
  const auto einsum = tensor::parse_einsum(node.attrs[0].text(), a.rank(), b.rank());
  if (!einsum) return false;
  const auto left = einsum->a.view(), right = einsum->b.view();
  bool learned = false;
  for (std::size_t i = 0; i < left.size(); ++i)
    for (std::size_t j = 0; j < right.size(); ++j)
      if (left[i] == right[j]) learned |= equal.add(a.dims[i], b.dims[j]);
  return learned;
}

/// A state keeps its sizes.
bool relate_states(const ir::Module& module, const ir::Node& node, Equalities& equal) {
  const ir::LoopPorts& ports = *node.loop;
  if (!ports.fixed_sizes) return false;
  const ir::Region& body = module.region(node.regions[0]);
  bool learned = false;
  for (std::uint32_t i = 0; i < ports.carried; ++i) {
    const Type& initial = module.value(node.inputs[ports.first_carried_input() + i]).type;
    const Type& next = module.value(body.yields[ports.first_carried_yield() + i]).type;
    if (initial.rank() == next.rank()) learned |= relate(initial, next, equal);
  }
  return learned;
}

bool relate_operands(const ir::Module& module, const ir::Node& node, Equalities& equal) {
  if (node.loop) return relate_states(module, node, equal);
  if (node.op == &ops::contract_op) return relate_factors(module, node, equal);
  if (node.op->access != ir::Access::pointwise) return false;
  bool learned = false;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[0].valid() && node.inputs[i].valid())
      learned |=
          relate(module.value(node.inputs[0]).type, module.value(node.inputs[i]).type, equal);
  return learned;
}

/// Whether the region runs whenever the graph does (apart from loops without steps): not inside a
/// branch.
bool always_runs(const ir::Module& module, ir::RegionId region) {
  while (module.region(region).owner.valid()) {
    const ir::Node& owner = module.node(module.region(region).owner);
    if (!owner.loop) return false;
    region = owner.parent;
  }
  return true;
}

}  // namespace

Expected<void> relate_sizes(ir::Module& module) {
  SCANLOOM_CHECK_OK(ir::infer_types(module, ir::Declared::ignore));
  Equalities equal(module);
  // Each round unites at least two symbols of inputs.
  for (bool learned = true; learned;) {
    learned = false;
    for (const ir::RegionId region : ir::regions_outer_first(module, module.top()))
      if (always_runs(module, region))
        for (const ir::NodeId node : module.region(region).nodes)
          learned |= relate_operands(module, module.node(node), equal);
    if (!learned) return {};
    for (const ir::ValueId arg : module.region(module.top()).args)
      for (Dim& dim : module.value(arg).type.dims) dim = equal.representative(dim);
    SCANLOOM_CHECK_OK(ir::infer_types(module, ir::Declared::ignore));
  }
  return {};
}

}  // namespace scanloom::expr
