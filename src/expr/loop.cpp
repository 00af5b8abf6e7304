#include "expr/loop.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "expr/apply.h"
#include "expr/harmless.h"
#include "expr/region_assignment.h"
#include "expr/substitute.h"
#include "ir/op_def.h"

namespace scanloom::expr {
namespace {

/// The values that the yields read from outside: those that depend on no argument, except
/// constants. With `lazy`, the body itself computes, in a branch region, what only its branch
/// regions read and may fail.
class Captures {
 public:
  Captures(std::span<const Expr> args, std::span<const Expr> yields, bool lazy) {
    for (const Expr& arg : args) inside_.insert(arg.node().get());
    const std::vector<const Node*> nodes = reachable(yields);
    for (const Node* node : nodes)
      if (std::ranges::any_of(node->inputs, [&](const Expr& x) { return is_inside(x); }))
        inside_.insert(node);
    if (lazy) take_in(nodes, RegionAssignment(yields));
    for (const Node* node : nodes)
      if (inside_.contains(node))
        for (const Expr& x : node->inputs) take(x);
    for (const Expr& x : yields) take(x);
  }

  [[nodiscard]] const std::vector<Expr>& values() const { return values_; }

 private:
  [[nodiscard]] bool is_inside(const Expr& x) const {
    return x.defined() && inside_.contains(x.node().get());
  }
  /// Readers of a node are younger: walking backwards, all readers inside are known.
  void take_in(const std::vector<const Node*>& nodes, const RegionAssignment& regions) {
    const Harmless harmless(nodes);
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if (!inside_.contains(*node)) continue;
      for (const Expr& x : (*node)->inputs)
        if (x.defined() && !regions.is_always(*x.node()) && !harmless.contains(*x.node()))
          inside_.insert(x.node().get());
    }
  }
  void take(const Expr& x) {
    if (!x.defined() || is_inside(x) || x.node()->kind == Kind::constant) return;
    if (seen_.insert(key_of(x)).second) values_.push_back(x);
  }

  std::unordered_set<const Node*> inside_;
  std::set<ExprKey> seen_;
  std::vector<Expr> values_;
};

bool sizes_may_agree(const StaticType& a, const StaticType& b) {
  return std::ranges::equal(
      a.sizes, b.sizes, [](std::int64_t x, std::int64_t y) { return x < 0 || y < 0 || x == y; });
}

/// "[3,?]".
std::string sizes_text(const StaticType& type) {
  const std::string text = to_string(type);
  return text.substr(text.find('['));
}

Expected<void> check_state(std::uint32_t i, const Expr& arg, const Expr& next) {
  const StaticType &before = type_of(arg), &after = type_of(next);
  if (before.dtype == after.dtype && before.rank() == after.rank() &&
      sizes_may_agree(before, after))
    return {};
  if (before.dtype == after.dtype)
    return fail(
        Code::invalid_argument,
        "state {} has sizes {} before step 0, but the step makes it {}; its sizes are fixed", i,
        sizes_text(before), sizes_text(after));
  return fail(Code::invalid_argument, "state {} is {} before a step, but {} after it", i,
              to_string(before), to_string(after));
}

/// Returns how many steps are taken if a constant says so; -1 otherwise.
std::int64_t constant_steps(const LoopSpec& spec) {
  if (!spec.facts.ports.has_trip_count || spec.facts.ports.has_keep_going) return -1;
  const auto count = constant_integers(spec.operands[0]);
  return count ? std::max<std::int64_t>((*count)[0], 0) : -1;
}

StaticType stacked_type(const StaticType& row, const ir::StackedPort& port, std::int64_t steps) {
  StaticType type = row;
  if (port.insert)
    type.sizes.insert(type.sizes.begin() + static_cast<std::ptrdiff_t>(port.axis), steps);
  else
    type.sizes[static_cast<std::size_t>(port.axis)] = -1;
  return type;
}

/// Turns what the yields read from outside into operands and arguments.
void capture(LoopSpec& spec, bool lazy) {
  ir::LoopPorts& ports = spec.facts.ports;
  const Captures captures(spec.args, spec.yields, lazy);
  Replacements inside;
  std::vector<Expr> args;
  for (const Expr& value : captures.values()) {
    args.push_back(placeholder(type_of(value), value.name()));
    inside.emplace(key_of(value), args.back());
  }
  const auto at = [&](std::vector<Expr>& list, std::uint32_t first) {
    return list.begin() + static_cast<std::ptrdiff_t>(first + ports.captured);
  };
  spec.operands.insert(at(spec.operands, ports.first_captured_input()), captures.values().begin(),
                       captures.values().end());
  spec.args.insert(at(spec.args, 0), args.begin(), args.end());
  ports.captured += static_cast<std::uint32_t>(args.size());
  spec.yields = substituted(spec.yields, inside);
}

Expected<std::vector<StaticType>> result_types(const LoopSpec& spec) {
  const ir::LoopPorts& ports = spec.facts.ports;
  std::vector<StaticType> types;
  for (std::uint32_t i = 0; i < ports.carried; ++i) {
    const Expr& arg = spec.args[ports.captured + i];
    const Expr& next = spec.yields[ports.first_carried_yield() + i];
    SCANLOOM_CHECK_OK(check_state(i, arg, next));
    types.push_back(joined(type_of(arg), type_of(next)));
  }
  const std::int64_t steps = constant_steps(spec);
  for (std::uint32_t i = 0; i < ports.stacked.size(); ++i) {
    const StaticType& row = type_of(spec.yields[ports.first_stacked_yield() + i]);
    if (row.rank() == tensor::kMaxRank && ports.stacked[i].insert)
      return fail(Code::invalid_argument, "rows of {} axes cannot be stacked", row.rank());
    types.push_back(stacked_type(row, ports.stacked[i], steps));
  }
  return types;
}

std::vector<Expr> made_loop(LoopSpec spec, bool lazy) {
  const std::size_t results = spec.facts.ports.output_count();
  for (const auto* list : {&spec.operands, &spec.yields})
    if (const Expr* bad = first_failed(*list)) return std::vector(results, *bad);
  capture(spec, lazy);
  if (const Expr* bad = first_failed(spec.yields)) return std::vector(results, *bad);
  auto types = result_types(spec);
  if (!types) {
    Error error = std::move(types).error();
    if (!spec.location.empty()) error = std::move(error).at(spec.location);
    return std::vector(results, failed(std::move(error)));
  }
  auto node = std::make_shared<Node>(Kind::loop, *std::move(types));
  node->op = &ir::loop_op;
  node->inputs = std::move(spec.operands);
  node->loop = std::move(spec.facts);
  node->loop->state_of_row.resize(node->loop->ports.stacked.size(), -1);
  node->body = {std::move(spec.args), std::move(spec.yields)};
  node->built_of = std::move(spec.built_of);
  for (const Node* inner : reachable_in_any_form(node->body.yields))
    node->built_of.insert(node->built_of.end(), inner->built_of.begin(), inner->built_of.end());
  node->location = std::move(spec.location);
  std::vector<Expr> outputs;
  for (std::uint32_t i = 0; i < results; ++i) outputs.emplace_back(node, i);
  return outputs;
}

}  // namespace

std::vector<Expr> make_loop(LoopSpec spec) { return made_loop(std::move(spec), false); }

std::vector<Expr> make_lazy_loop(LoopSpec spec) { return made_loop(std::move(spec), true); }

Expr last_state(const Expr& x) {
  const Node& node = *x.node();
  if (node.last_row) return *node.last_row;
  if (node.kind != Kind::loop || x.output() < node.loop->ports.carried) return {};
  const std::uint32_t row = x.output() - node.loop->ports.carried;
  const int state = node.loop->state_of_row[row];
  const ir::StackedPort& port = node.loop->ports.stacked[row];
  if (state < 0 || port.axis != 0 || port.reverse || !port.insert) return {};
  return Expr(x.node(), static_cast<std::uint32_t>(state));
}

Expr stacked_in(const NodePtr& loop, const Expr& value) {
  ir::LoopPorts& ports = loop->loop->ports;
  Body& body = loop->body;
  for (std::uint32_t i = 0; i < ports.stacked.size(); ++i)
    if (body.yields[ports.first_stacked_yield() + i] == value &&
        ports.stacked[i] == ir::StackedPort{})
      return Expr(loop, ports.carried + i);
  const auto steps = ports.has_trip_count && !ports.has_keep_going
                         ? constant_integers(loop->inputs[0])
                         : std::nullopt;
  loop->outputs.push_back(
      stacked_type(type_of(value), {}, steps ? std::max<std::int64_t>((*steps)[0], 0) : -1));
  body.yields.push_back(value);
  ports.stacked.emplace_back();
  loop->loop->state_of_row.push_back(-1);
  return Expr(loop, ports.output_count() - 1);
}

Expr steps_of(const NodePtr& loop) {
  const ir::LoopPorts& ports = loop->loop->ports;
  if (ports.has_trip_count && !ports.has_keep_going) return maximum(loop->inputs[0], integer(0));
  for (std::uint32_t i = 0; i < ports.stacked.size(); ++i)
    if (ports.stacked[i].insert)
      return size(Expr(loop, ports.carried + i), static_cast<int>(ports.stacked[i].axis));
  return size(stacked_in(loop, integer(0)), 0);
}

}  // namespace scanloom::expr
