#include "expr/lower.h"

#include <algorithm>
#include <map>

#include "expr/complex_parts.h"
#include "expr/lazy_loops.h"
#include "expr/region_assignment.h"
#include "expr/relate_sizes.h"
#include "expr/shared.h"
#include "expr/substitute.h"

namespace scanloom::expr {
namespace {

using ir::RegionId;
using ir::ValueId;

/// The values computed in one region. A branch region captures what it reads of the surrounding
/// regions when it first reads it.
struct Scope {
  RegionId region;
  AssignedRegion assigned = 0;
  std::map<ExprKey, ValueId> values = {};
  Scope* outer = nullptr;  ///< for a branch region
  Scope* other = nullptr;  ///< for a branch region: the other one, which takes the same operands
  ir::NodeId branch = {};

  /// Whether the node has a value, here or in a surrounding region.
  [[nodiscard]] bool knows(const Node& node) const {
    for (const Scope* at = this; at != nullptr; at = at->outer)
      if (at->values.contains({&node, 0})) return true;
    return false;
  }
};

/// Regions nest as deep as loops and branches do.
class Lowering {
 public:
  explicit Lowering(ir::Module& module) : module_(module) {}

  [[nodiscard]] tensor::Type type(const StaticType& of) {
    std::vector<tensor::Dim> dims;
    for (const std::int64_t size : of.sizes)
      dims.push_back(size < 0 ? module_.dims.fresh() : tensor::Dim(size));
    return tensor::Type::of(of.dtype, std::move(dims));
  }

  /// Lowers what the yields reach, into a region whose arguments the scope knows.
  Expected<void> region(Scope scope, std::span<const Expr> wanted) {
    Replacements kept;
    for (const auto& [key, value] : scope.values)
      kept.emplace(key, Expr(const_cast<Node*>(key.node)->shared_from_this(), key.output));
    const std::vector<Expr> yields =
        with_real_parts(with_lazy_loops({wanted.begin(), wanted.end()}, kept));
    if (const Expr* bad = first_failed(yields)) return *bad->error();
    // A node with a given value is not computed again, since its original form reads that value.
    const auto is_free = [&](const Node& node) {
      return std::ranges::none_of(node.stable->passed,
                                  [&](const Expr& x) { return scope.values.contains(key_of(x)); });
    };
    SCANLOOM_CHECK_OK(fill(scope, RegionAssignment(yields, is_free)));
    yield(scope, yields);
    return {};
  }

 private:
  Expected<void> fill(Scope& scope, const RegionAssignment& assignment) {
    if (++depth_ > kDeepestNest)
      return fail(Code::limit_reached, "loops and branches are nested more than {} deep",
                  kDeepestNest);
    for (const Node* node : assignment.nodes(scope.assigned))
      if (assignment.takes_stable_form(*node))
        take_stable_form(scope, *node);
      else if (!scope.knows(*node))
        SCANLOOM_CHECK_OK(add(scope, assignment, *node));
    --depth_;
    return {};
  }

  void take_stable_form(Scope& scope, const Node& node) {
    const ValueId value = value_of(scope, node.stable->value);
    std::string& name = module_.value(value).name;
    if (name.empty() && !node.names.empty()) name = node.names[0];
    scope.values.try_emplace(ExprKey{&node, 0}, value);
  }

  void yield(Scope& scope, std::span<const Expr> yields) {
    for (const Expr& x : yields) {
      const ValueId value = value_of(scope, x);  // may add values of regions
      module_.region(scope.region).yields.push_back(value);
    }
  }

  Expected<void> add(Scope& scope, const RegionAssignment& assignment, const Node& node) {
    switch (node.kind) {
      case Kind::failed:
        return *node.error;
      case Kind::input:
      case Kind::shared:
        if (!node.location.empty())
          return fail(Code::invalid_argument,
                      "a value that {} passes to its steps is read outside them: let the step "
                      "return what is needed",
                      node.location);
        return fail(Code::invalid_argument,
                    "{} is needed but is not an input of the function; add it to the inputs, or "
                    "give it a value with givens",
                    node.names.empty() || node.names[0].empty()
                        ? "a variable " + to_string(node.outputs[0])
                        : "'" + node.names[0] + "'");
      case Kind::constant:
        return {};  // computed where it is read
      case Kind::op:
        add_node(scope, node, node.inputs);
        return {};
      case Kind::loop:
        return add_loop(scope, node);
      case Kind::branch:
        return add_branch(scope, assignment, node);
    }
    return {};
  }

  /// Returns the value in a region: made there, or captured on the way to it.
  ValueId value_of(Scope& scope, const Expr& x) {
    const ExprKey key = key_of(x);
    const auto found = scope.values.find(key);
    if (found != scope.values.end()) return found->second;
    ValueId value;
    if (x.node()->kind == Kind::constant) {
      const tensor::Tensor& elements = x.node()->value;
      const ir::NodeId made =
          module_.add_node(scope.region, ir::constant_op, {}, {elements},
                           {tensor::Type::of(elements.dtype(), elements.shape())});
      value = module_.node(made).outputs[0];
    } else {
      value = capture(scope, x);
    }
    scope.values.emplace(key, value);
    return value;
  }

  ValueId capture(Scope& side, const Expr& x) {
    const ValueId outer = value_of(*side.outer, x);
    module_.node(side.branch).inputs.push_back(outer);
    const tensor::Type type = module_.value(outer).type;
    side.other->values.emplace(key_of(x), module_.add_argument(side.other->region, type, x.name()));
    return module_.add_argument(side.region, type, x.name());
  }

  ir::NodeId add_node(Scope& scope, const Node& node, std::span<const Expr> operands) {
    std::vector<ValueId> inputs;
    for (const Expr& x : operands) inputs.push_back(x.defined() ? value_of(scope, x) : ValueId());
    std::vector<tensor::Type> types;
    for (const StaticType& output : node.outputs) types.push_back(type(output));
    const ir::NodeId made = module_.add_node(scope.region, *node.op, std::move(inputs), node.attrs,
                                             std::move(types), location_of(node));
    for (std::uint32_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId value = module_.node(made).outputs[i];
      if (i < node.names.size()) module_.value(value).name = node.names[i];
      scope.values.emplace(ExprKey{&node, i}, value);
    }
    return made;
  }

  RegionId add_region(ir::NodeId owner) {
    const RegionId made = module_.add_region(owner);
    module_.node(owner).regions.push_back(made);
    return made;
  }

  Expected<void> add_loop(Scope& scope, const Node& node) {
    const ir::NodeId made = add_node(scope, node, node.inputs);
    module_.node(made).loop = node.loop->ports;
    Scope inner{.region = add_region(made)};
    for (const Expr& arg : node.body.args)
      inner.values.emplace(key_of(arg),
                           module_.add_argument(inner.region, type(type_of(arg)), arg.name()));
    return region(std::move(inner), node.body.yields);
  }

  Expected<void> add_branch(Scope& scope, const RegionAssignment& assignment, const Node& node) {
    const ir::NodeId made = add_node(scope, node, std::span(node.inputs).first(1));
    Scope then{.region = add_region(made), .outer = &scope, .branch = made};
    Scope otherwise{.region = add_region(made), .outer = &scope, .other = &then, .branch = made};
    then.other = &otherwise;
    Scope* const sides[] = {&then, &otherwise};
    const std::span<const Expr> values = std::span(node.inputs).subspan(1);
    const std::size_t results = node.outputs.size();
    for (std::size_t i = 0; i < 2; ++i) {
      sides[i]->assigned = assignment.branch_region(scope.assigned, node, i);
      // The same region if branches nest too deeply: everything is available already.
      if (sides[i]->assigned != scope.assigned) SCANLOOM_CHECK_OK(fill(*sides[i], assignment));
      yield(*sides[i], values.subspan(i * results, results));
    }
    return {};
  }

  ir::LocationId location_of(const Node& node) {
    if (!node.location.empty()) return module_.add_location({{node.location}});
    return {};
  }

  ir::Module& module_;
  int depth_ = 0;
};

}  // namespace

std::string distinct(const std::string& name, std::set<std::string>& used) {
  std::string own = name;
  for (int times = 2; !used.insert(own).second; ++times) own = name + "_" + std::to_string(times);
  return own;
}

Expected<Lowered> lower(std::span<const Expr> inputs, std::span<const Expr> outputs,
                        const std::string& name, std::span<const std::string> output_names) {
  Lowered lowered;
  ir::Module& module = lowered.module;
  module.name = name;
  lowered.shared = shared_variables(outputs);
  Lowering lowering(module);
  Scope top{.region = module.top()};
  std::set<std::string> used;  // feeds are given by name
  const auto add = [&](const Expr& x) -> Expected<void> {
    const std::string number = "input " + std::to_string(top.values.size());
    const std::string own = distinct(x.name().empty() ? number : x.name(), used);
    tensor::Type type = lowering.type(type_of(x));
    for (std::size_t axis = 0; axis < type.dims.size(); ++axis)
      if (!type.dims[axis].is_constant())
        type.dims[axis] = module.dims.symbol(own + "." + std::to_string(axis));
    if (!top.values.emplace(key_of(x), module.add_argument(top.region, type, own)).second)
      return fail(Code::invalid_argument, "the input {} is named twice", describe(x));
    return {};
  };
  for (const Expr& x : inputs) SCANLOOM_CHECK_OK(add(x));
  std::erase_if(lowered.shared, [&](const Expr& x) { return top.values.contains(key_of(x)); });
  for (const Expr& x : lowered.shared) SCANLOOM_CHECK_OK(add(x));
  for (const Expr& x : outputs)
    if (x.error() != nullptr) return *x.error();
  SCANLOOM_CHECK_OK(lowering.region(std::move(top), outputs));
  std::set<std::string> named;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::string own = i < output_names.size() ? output_names[i] : std::string();
    if (own.empty()) own = outputs[i].name();
    if (own.empty()) own = "output " + std::to_string(i);
    module.output_names.push_back(distinct(own, named));
  }
  SCANLOOM_CHECK_OK(relate_sizes(module));
  return lowered;
}

}  // namespace scanloom::expr
