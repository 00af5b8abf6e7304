#include "api/expand_gradients.h"

#include <scanloom/grad.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "api/plain_form.h"
#include "expr/lower.h"
#include "expr/raise.h"
#include "ir/clone_nodes.h"
#include "ir/gradient_op.h"
#include "ir/infer.h"
#include "ir/walk.h"
#include "passes/run.h"

namespace scanloom {
namespace {

using ir::GradientOperands;
using ir::Module;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

/// Limit on the nodes of a module with gradients. Each gradient of a gradient multiplies them.
constexpr std::size_t kMaxNodes = std::size_t{1} << 18;

/// The part of a region that a value is computed from, up to given variables.
struct Part {
  std::vector<NodeId> nodes;          ///< in the order of the region
  std::vector<ValueId> other_values;  ///< arguments of the region that are no variables
};

Part part_of(const Module& module, const ir::Region& region, ValueId y,
             std::span<const ValueId> variables) {
  Part part;
  const std::set<ValueId> cut(variables.begin(), variables.end());
  std::set<ValueId> wanted;
  const auto want = [&](ValueId value) {
    if (value.valid() && !cut.contains(value)) wanted.insert(value);
  };
  want(y);
  for (auto node = region.nodes.rbegin(); node != region.nodes.rend(); ++node) {
    const ir::Node& made = module.node(*node);
    if (std::ranges::none_of(made.outputs, [&](ValueId x) { return wanted.contains(x); })) continue;
    part.nodes.push_back(*node);
    for (const ValueId input : made.inputs) want(input);
  }
  std::ranges::reverse(part.nodes);
  for (const ValueId arg : region.args)
    if (wanted.contains(arg)) part.other_values.push_back(arg);
  return part;
}

/// Replaces the sizes that only `from` has symbols for by fresh symbols of `to`.
void rename_sizes(Module& from, tensor::DimTable& to) {
  for (std::size_t i = 0; i < from.value_count(); ++i)
    for (tensor::Dim& dim : from.value(ValueId(i)).type.dims)
      if (!dim.is_constant()) dim = to.fresh();
}

/// Expands one gradient node.
class GradientExpansion {
 public:
  GradientExpansion(Module& module, NodeId node)
      : module_(module),
        id_(node),
        node_(module.node(node)),
        gradient_(GradientOperands::of(node_)),
        region_(node_.parent) {}

  Expected<void> expand() {
    SCANLOOM_TRY(Module function, function_of_variables());
    passes::RunOptions plain{.disabled = passes_beyond_gradients()};
    SCANLOOM_CHECK_OK(passes::run(function, plain));
    SCANLOOM_TRY(Module gradients, gradients_of(function));
    put_in_place(std::move(gradients));
    return {};
  }

 private:
  /// y as a function of the variables and of the other values that it reads.
  Expected<Module> function_of_variables() {
    Module function;
    function.dims = module_.dims;
    const Part part = part_of(module_, module_.region(region_), gradient_.y, gradient_.variables);
    std::map<ValueId, ValueId> values;
    const auto add = [&](ValueId value, ValueId given) {
      const ir::Value& of = module_.value(value);
      values[value] = function.add_argument(function.top(), of.type, of.name);
      given_.push_back(given);
    };
    for (std::size_t i = 0; i < gradient_.variables.size(); ++i) {
      if (values.contains(gradient_.variables[i]))
        return invalid_model("the variable {} is named twice",
                             module_.describe_result(gradient_.variables[i]));
      add(gradient_.variables[i], gradient_.values[i]);
    }
    for (const ValueId value : part.other_values) add(value, value);
    ir::clone_nodes_into(module_, part.nodes, function, function.top(), values);
    function.region(function.top()).yields = {values.at(gradient_.y)};
    function.output_names = {"y"};
    return function;
  }

  /// The gradients as a module with the same arguments.
  [[nodiscard]] Expected<Module> gradients_of(const Module& function) const {
    SCANLOOM_TRY(const expr::Raised raised, expr::raise(function));
    const std::vector<Expr>& outputs = raised.outputs;
    const std::vector<Expr> wrt(raised.inputs.begin(),
                                raised.inputs.begin() + static_cast<std::ptrdiff_t>(gradient_.wrt));
    std::vector<Expr> found = pull_back(outputs, {ones_like(outputs[0])}, wrt);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (!found[i].defined()) found[i] = zero_gradient(outputs, wrt[i]);
    found.resize(node_.outputs.size());
    SCANLOOM_TRY(expr::Lowered lowered, expr::lower(raised.inputs, found, "gradient"));
    return std::move(lowered.module);
  }

  /// Puts the nodes of the gradients before the node, which nothing reads any more.
  void put_in_place(Module gradients) {
    rename_sizes(gradients, module_.dims);
    const ir::Region& made = gradients.region(gradients.top());
    std::map<ValueId, ValueId> values;
    for (std::size_t i = 0; i < given_.size(); ++i) values[made.args[i]] = given_[i];
    const auto before = static_cast<std::ptrdiff_t>(module_.region(region_).nodes.size());
    ir::clone_nodes_into(gradients, made.nodes, module_, region_, values);
    std::vector<NodeId>& nodes = module_.region(region_).nodes;
    for (auto node = nodes.begin() + before; node != nodes.end(); ++node)
      if (!module_.node(*node).location.valid()) module_.node(*node).location = node_.location;
    std::rotate(std::ranges::find(nodes, id_), nodes.begin() + before, nodes.end());
    nodes.erase(std::ranges::find(nodes, id_));
    ir::ValueMap map(module_);
    for (std::size_t i = 0; i < made.yields.size(); ++i)
      map.set(node_.outputs[i], values.at(made.yields[i]));
    map.apply(module_);
  }

  Module& module_;
  NodeId id_;
  ir::Node node_;  ///< a copy: the table of nodes grows
  GradientOperands gradient_;
  RegionId region_;
  std::vector<ValueId> given_;  ///< what the arguments of the function stand for
};

/// Each after those that its y may be computed from, in the same region or in bodies.
std::vector<NodeId> gradients_in(const Module& module) {
  std::vector<NodeId> found;
  for (const RegionId region : ir::regions_inner_first(module, module.top()))
    for (const NodeId node : module.region(region).nodes)
      if (module.node(node).op == &ir::gradient_op) found.push_back(node);
  return found;
}

}  // namespace

Expected<void> expand_gradients(Module& module) {
  const std::vector<NodeId> found = gradients_in(module);
  if (found.empty()) return {};
  for (const NodeId node : found) {
    const std::string where = module.describe(node);
    if (auto done = GradientExpansion(module, node).expand(); !done)
      return std::move(done).error().at(where);
    if (module.node_count() > kMaxNodes)
      return fail(Code::limit_reached, "{}: the model has {} nodes with this gradient, at most {}",
                  where, module.node_count(), kMaxNodes);
  }
  return ir::infer_types(module);
}

}  // namespace scanloom
