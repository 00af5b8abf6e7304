#include "expr/raise.h"

#include "expr/apply.h"
#include "expr/branch.h"

namespace scanloom::expr {
namespace {

using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

/// Regions nest as deep as loops do; each call of region() is one level.
class Raising {
 public:
  explicit Raising(const ir::Module& module) : module_(module), values_(module.value_count()) {}

  /// Placeholders for the arguments, and the region's yields in terms of them.
  Expected<Body> region(RegionId id) {
    Body body;
    for (const ValueId arg : module_.region(id).args) {
      SCANLOOM_TRY(StaticType type, type_of_value(arg));
      body.args.push_back(placeholder(std::move(type), module_.value(arg).name));
    }
    SCANLOOM_TRY(body.yields, results(id, body.args));
    return body;
  }

 private:
  /// Returns the region's yields for the given arguments.
  Expected<std::vector<Expr>> results(RegionId id, std::span<const Expr> args) {
    if (++depth_ > kDeepestNest)
      return fail(Code::limit_reached, "loops and branches are nested more than {} deep",
                  kDeepestNest);
    const ir::Region& from = module_.region(id);
    for (std::size_t i = 0; i < args.size(); ++i) values_[from.args[i].index] = args[i];
    for (const NodeId node : from.nodes) SCANLOOM_CHECK_OK(add(node));
    std::vector<Expr> yields;
    for (const ValueId value : from.yields) yields.push_back(values_[value.index]);
    --depth_;
    return yields;
  }

  [[nodiscard]] Expected<StaticType> type_of_value(ValueId id) const {
    const ir::Value& value = module_.value(id);
    const tensor::Type& type = value.type;
    const auto where = [&] {
      return value.producer.valid() ? module_.describe(value.producer)
                                    : "the input " + module_.describe(id);
    };
    if (!type.is_tensor() || type.dtype == DType::string)
      return fail(Code::unsupported, "{}: {} is {}, but expressions are tensors of numbers",
                  where(), module_.describe(id), to_string(type, module_.dims));
    if (!type.ranked)
      return fail(Code::unsupported, "{}: the rank of {} is known only at run time", where(),
                  module_.describe(id));
    StaticType made{type.dtype, {}};
    for (const tensor::Dim dim : type.dims)
      made.sizes.push_back(dim.is_constant() ? dim.value() : -1);
    return made;
  }

  Expected<void> add(NodeId id) {
    const ir::Node& node = module_.node(id);
    if (node.op == &ir::constant_op) {
      SCANLOOM_TRY(const StaticType type, type_of_value(node.outputs[0]));
      set(node.outputs[0], constant_of(node.attrs[0].tensor()));
      return {};
    }
    std::vector<Expr> inputs;
    for (const ValueId value : node.inputs)
      inputs.push_back(value.valid() ? values_[value.index] : Expr());
    std::vector<StaticType> types;
    for (const ValueId value : node.outputs) {
      SCANLOOM_TRY(types.emplace_back(), type_of_value(value));
    }
    if (node.op == &ir::branch_op) return add_branch(node, inputs);
    Body body;
    std::optional<LoopFacts> loop;
    if (node.loop) {
      SCANLOOM_TRY(body, region(node.regions[0]));
      SCANLOOM_TRY(loop, facts_of(id, inputs));
    }
    auto made = std::make_shared<Node>(node.loop ? Kind::loop : Kind::op, std::move(types));
    made->op = node.op;
    made->inputs = std::move(inputs);
    made->attrs = node.attrs;
    made->loop = std::move(loop);
    made->body = std::move(body);
    set_all(node, made);
    return {};
  }

  Expected<void> add_branch(const ir::Node& node, std::span<const Expr> inputs) {
    const std::span<const Expr> captured = inputs.subspan(1);
    SCANLOOM_TRY(const std::vector<Expr> then, results(node.regions[0], captured));
    SCANLOOM_TRY(const std::vector<Expr> otherwise, results(node.regions[1], captured));
    const std::vector<Expr> made = make_branch(as_scalar(inputs[0]), then, otherwise);
    if (const Expr* bad = first_failed(made)) return *bad->error();
    if (!made.empty()) set_all(node, made[0].node());
    return {};
  }

  void set_all(const ir::Node& node, const NodePtr& made) {
    if (node.location.valid() && !module_.location(node.location).nodes.empty())
      made->location = module_.location(node.location).nodes.front();
    for (std::uint32_t i = 0; i < node.outputs.size(); ++i) set(node.outputs[i], Expr(made, i));
  }

  void set(ValueId id, Expr x) {
    if (!module_.value(id).name.empty()) x.named(module_.value(id).name);
    values_[id.index] = std::move(x);
  }

  static Expr as_scalar(const Expr& x) { return x.rank() == 0 ? x : reshape(x, integers({})); }

  /// A loop whose steps are counted by a scalar or by what it scans. Whether the first step runs is
  /// expressed by the number of steps, as gradients require.
  Expected<LoopFacts> facts_of(NodeId id, std::vector<Expr>& inputs) {
    LoopFacts facts;
    facts.ports = *module_.node(id).loop;
    ir::LoopPorts& ports = facts.ports;
    if (ports.over_items)
      return fail(Code::unsupported, "{}: it walks over a sequence, but expressions are tensors",
                  module_.describe(id));
    facts.state_of_row.assign(ports.stacked.size(), -1);
    if (ports.has_trip_count) inputs[0] = cast(as_scalar(inputs[0]), DType::i64);
    if (ports.has_condition) {
      const std::size_t at = ports.has_trip_count ? 1 : 0;
      const Expr runs = cast(as_scalar(inputs[at]), DType::boolean);
      const Expr most = ports.has_trip_count ? inputs[0] : integer(ir::kEndlessTripCount);
      inputs.erase(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      inputs.insert(inputs.begin(), where(runs, most, integer(0)));
      ports.has_trip_count = true;
      ports.has_condition = false;
    }
    if (const Expr* bad = first_failed(inputs)) return *bad->error();
    return facts;
  }

  const ir::Module& module_;
  std::vector<Expr> values_;
  int depth_ = 0;
};

}  // namespace

Expected<Raised> raise(const ir::Module& module) {
  SCANLOOM_TRY(Body top, Raising(module).region(module.top()));
  return Raised{std::move(top.args), std::move(top.yields)};
}

}  // namespace scanloom::expr
