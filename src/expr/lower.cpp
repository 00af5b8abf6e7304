#include "expr/lower.h"

#include <map>

#include "expr/relate_sizes.h"
#include "expr/shared.h"
#include "expr/substitute.h"

namespace scanloom::expr {
namespace {

using ir::RegionId;
using ir::ValueId;

using Values = std::map<ExprKey, ValueId>;

/// Regions nest as deep as loops do in each other; each call of region() is one level.
class Lowering {
 public:
  explicit Lowering(ir::Module& module) : module_(module) {}

  [[nodiscard]] tensor::Type type(const StaticType& of) {
    std::vector<tensor::Dim> dims;
    for (const std::int64_t size : of.sizes)
      dims.push_back(size < 0 ? module_.dims.fresh() : tensor::Dim(size));
    return tensor::Type::of(of.dtype, std::move(dims));
  }

  /// Nodes that the yields reach, into a region whose arguments `values` names.
  Expected<void> region(RegionId to, std::span<const Expr> yields, Values values) {
    if (++depth_ > kDeepest)
      return fail(Code::limit_reached, "loops and branches lie in each other more than {} deep",
                  kDeepest);
    for (const Node* node : reachable(yields)) SCANLOOM_CHECK_OK(add(to, *node, values));
    for (const Expr& x : yields) module_.region(to).yields.push_back(values.at(key_of(x)));
    --depth_;
    return {};
  }

 private:
  Expected<void> add(RegionId to, const Node& node, Values& values) {
    if (values.contains({&node, 0})) return {};
    switch (node.kind) {
      case Kind::failed:
        return *node.error;
      case Kind::input:
      case Kind::shared:
        return fail(Code::invalid_argument,
                    "{} is needed but is no input of the function; name it among the inputs, or "
                    "give it a value with givens",
                    node.names.empty() || node.names[0].empty()
                        ? "a variable " + to_string(node.outputs[0])
                        : "'" + node.names[0] + "'");
      case Kind::constant:
        add_constant(to, node, values);
        return {};
      case Kind::op:
      case Kind::loop:
      case Kind::branch:
        return add_node(to, node, values);
    }
    return {};
  }

  void add_constant(RegionId to, const Node& node, Values& values) {
    const ir::NodeId made =
        module_.add_node(to, ir::constant_op, {}, {node.value},
                         {tensor::Type::of(node.value.dtype(), node.value.shape())});
    values.emplace(ExprKey{&node, 0}, module_.node(made).outputs[0]);
  }

  Expected<void> add_node(RegionId to, const Node& node, Values& values) {
    std::vector<ValueId> inputs;
    for (const Expr& x : node.inputs)
      inputs.push_back(x.defined() ? values.at(key_of(x)) : ValueId());
    std::vector<tensor::Type> types;
    for (const StaticType& output : node.outputs) types.push_back(type(output));
    const ir::NodeId made = module_.add_node(to, *node.op, std::move(inputs), node.attrs,
                                             std::move(types), place(node));
    if (node.loop) module_.node(made).loop = node.loop->ports;
    for (const Body& body : node.bodies) {
      const RegionId inner = module_.add_region(made);
      module_.node(made).regions.push_back(inner);
      Values args;
      for (const Expr& arg : body.args)
        args.emplace(key_of(arg), module_.add_argument(inner, type(type_of(arg)), arg.name()));
      SCANLOOM_CHECK_OK(region(inner, body.yields, std::move(args)));
    }
    for (std::uint32_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId value = module_.node(made).outputs[i];
      if (i < node.names.size()) module_.value(value).name = node.names[i];
      values.emplace(ExprKey{&node, i}, value);
    }
    return {};
  }

  ir::PlaceId place(const Node& node) {
    if (!node.place.empty()) return module_.add_place({{node.place}});
    return {};
  }

  static constexpr int kDeepest = 1000;  // as of models
  ir::Module& module_;
  int depth_ = 0;
};

/// Names of arguments are distinct: feeds go by them.
std::string distinct(std::string name, std::size_t i, std::map<std::string, int>& used) {
  if (name.empty()) name = "input " + std::to_string(i);
  const int times = used[name]++;
  return times == 0 ? name : name + " (" + std::to_string(times + 1) + ")";
}

}  // namespace

Expected<Lowered> lower(std::span<const Expr> inputs, std::span<const Expr> outputs,
                        const std::string& name) {
  Lowered lowered;
  ir::Module& module = lowered.module;
  module.name = name;
  lowered.shared = shared_variables(outputs);
  Lowering lowering(module);
  Values values;
  std::map<std::string, int> used;
  const auto add = [&](const Expr& x) -> Expected<void> {
    const std::string own = distinct(x.name(), values.size(), used);
    tensor::Type type = lowering.type(type_of(x));
    for (std::size_t axis = 0; axis < type.dims.size(); ++axis)
      if (!type.dims[axis].is_constant())
        type.dims[axis] = module.dims.symbol(own + "." + std::to_string(axis));
    if (!values.emplace(key_of(x), module.add_argument(module.top(), type, own)).second)
      return fail(Code::invalid_argument, "the input {} is named twice", describe(x));
    return {};
  };
  for (const Expr& x : inputs) SCANLOOM_CHECK_OK(add(x));
  std::erase_if(lowered.shared, [&](const Expr& x) { return values.contains(key_of(x)); });
  for (const Expr& x : lowered.shared) SCANLOOM_CHECK_OK(add(x));
  for (const Expr& x : outputs)
    if (x.error() != nullptr) return *x.error();
  SCANLOOM_CHECK_OK(lowering.region(module.top(), outputs, std::move(values)));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    module.output_names.push_back("output " + std::to_string(i));
  SCANLOOM_CHECK_OK(relate_sizes(module));
  return lowered;
}

}  // namespace scanloom::expr
