#include "expr/complex_parts.h"

#include <algorithm>
#include <map>

#include "base/assert.h"
#include "expr/apply.h"
#include "expr/branch.h"
#include "expr/complex_ops.h"
#include "expr/complex_rules.h"
#include "expr/substitute.h"
#include "expr/types.h"
#include "ops/ops.h"

namespace scanloom::expr {
namespace {

bool is_complex_value(const Expr& x) { return x.defined() && is_complex(type_of(x).dtype); }

bool is_leaf(const Node& node) {
  return node.kind == Kind::input || node.kind == Kind::constant || node.kind == Kind::shared;
}

bool is_complex_type(const StaticType& type) { return is_complex(type.dtype); }

bool makes_complex(const Node& node) { return std::ranges::any_of(node.outputs, is_complex_type); }

bool has_to_do_with_complex(const Node& node) {
  return makes_complex(node) || std::ranges::any_of(node.inputs, is_complex_value) ||
         std::ranges::any_of(node.body.args, is_complex_value) ||
         std::ranges::any_of(node.body.yields, is_complex_value);
}

StaticType part_type(StaticType type) {
  type.dtype = part_of(type.dtype);
  return type;
}

Parts parts_of_constant(const Node& node) {
  auto re = part_of_complex(node.value, false), im = part_of_complex(node.value, true);
  if (!re || !im) return {failed(re ? std::move(im).error() : std::move(re).error()), {}};
  const bool real = holds_only_zeros(*im);
  return {constant_of(*std::move(re)), real ? Expr() : constant_of(*std::move(im))};
}

/// Returns the parts of a complex leaf.
Parts parts_of_leaf(const Expr& x) {
  const Expr both = apply(ops::bit_cast_op, {x}, {{"to", part_of(x.dtype())}});
  if (both.error() != nullptr) return {both, {}};
  const auto part = [&](std::int64_t which) {
    const Expr slice =
        subtensor(both, {Index::ellipsis(), Index::slice(integer(which), integer(which + 1))});
    return squeeze(slice, {both.rank() - 1});
  };
  return {part(0), part(1)};
}

Expr joined_parts(const Parts& parts) {
  const std::int64_t last = parts.re.error() == nullptr ? parts.re.rank() : 0;
  const Expr both =
      concatenate({expand_dims(parts.re, {last}), expand_dims(parts.imaginary(), {last})},
                  static_cast<int>(last));
  if (both.error() != nullptr) return both;
  return apply(ops::bit_cast_op, {both}, {{"to", complex_of(both.dtype())}});
}

/// Whether x is broadcast to the sizes of `other`. Sizes that are known only at run time are equal,
/// or an error then.
bool is_stretched(const Expr& x, const Expr& other) {
  const auto a = x.sizes(), b = other.sizes();
  if (a.size() != b.size()) return a.size() < b.size();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] == 1 && b[i] != 1) return true;
  return false;
}

/// Gives both parts their common sizes: one of them may have come from only one operand.
Parts of_same_sizes(Parts parts) {
  if (parts.re.error() != nullptr) return parts;
  if (parts.is_real()) return parts;
  if (parts.im.error() != nullptr) return {parts.im, {}};
  const Expr re = parts.re, im = parts.im;
  if (is_stretched(im, re)) parts.im = broadcast_to(im, shape(is_stretched(re, im) ? re + im : re));
  if (is_stretched(re, im)) parts.re = broadcast_to(re, shape(is_stretched(im, re) ? re + im : im));
  return parts;
}

void name_parts(const Parts& parts, const std::string& name) {
  if (name.empty()) return;
  for (Expr part : {parts.re, parts.im})
    if (part.defined() && part.name().empty() && part.node()->kind != Kind::constant)
      part.named(name + (part == parts.re ? ".real" : ".imag"));
}

class Decomposition {
 public:
  explicit Decomposition(const std::vector<Expr>& outputs) {
    for (const Node* node : reachable_in_any_form(outputs)) visit(*node);
  }

  [[nodiscard]] Expr result(const Expr& x) {
    if (!is_complex_value(x)) return now(x);
    if (is_leaf(*x.node())) return x;
    Expr joined = joined_parts(parts(x));
    if (joined.error() == nullptr && !x.name().empty()) joined.named(x.name());
    return joined;
  }

 private:
  /// For a real value: its replacement.
  [[nodiscard]] Expr now(const Expr& x) const {
    const auto found = x.defined() ? now_.find(key_of(x)) : now_.end();
    return found == now_.end() ? x : found->second;
  }

  [[nodiscard]] bool is_known(const Expr& x) const {
    return is_leaf(*x.node()) || parts_.contains(key_of(x));
  }

  /// For a visited value, or a leaf.
  Parts parts(const Expr& x) {
    const auto found = parts_.find(key_of(x));
    if (found != parts_.end()) return found->second;
    SCANLOOM_ASSERT(is_leaf(*x.node()));
    Parts made = x.node()->kind == Kind::constant ? parts_of_constant(*x.node()) : parts_of_leaf(x);
    parts_.emplace(key_of(x), made);
    return made;
  }

  Parts operand(const Expr& x) {
    if (is_complex_value(x)) return parts(x);
    return {now(x), {}};
  }

  [[nodiscard]] bool is_changed(const Expr& x) const {
    return x.defined() && now_.contains(key_of(x));
  }

  void visit(const Node& node) {
    if (is_leaf(node) || node.kind == Kind::failed) return;
    if (!has_to_do_with_complex(node)) return visit_real(node);
    if (node.kind == Kind::loop) return visit_loop(node);
    if (node.kind == Kind::branch) return visit_branch(node);
    // After no steps there is no last row, but there is a state (expr/stable.h).
    if (node.stable != nullptr && makes_complex(node) && is_known(node.stable->value))
      return keep(node, {parts(node.stable->value)});
    ComplexCall call{.node = node, .inputs = {}};
    for (const Expr& x : node.inputs) call.inputs.push_back(operand(x));
    const auto row = complex_row(*node.op, node.attrs);
    std::vector<Parts> results(node.outputs.size());
    if (row)
      results = (*row)->rule(call);
    else
      std::ranges::fill(results, Parts{failed(row.error()), {}});
    keep(node, results);
  }

  void keep(const Node& node, const std::vector<Parts>& results) {
    for (std::uint32_t i = 0; i < results.size(); ++i) {
      const std::string name = i < node.names.size() ? node.names[i] : "";
      if (is_complex(node.outputs[i].dtype)) {
        const Parts& made =
            parts_.emplace(ExprKey{&node, i}, of_same_sizes(results[i])).first->second;
        name_parts(made, name);
      } else {
        now_.emplace(ExprKey{&node, i}, results[i].re);
      }
    }
  }

  void visit_real(const Node& node) {
    const auto changed = [&](const Expr& x) { return is_changed(x); };
    if (std::ranges::none_of(node.inputs, changed)) return;
    std::vector<Expr> inputs;
    for (const Expr& x : node.inputs) inputs.push_back(now(x));
    const std::vector<Expr> made = with_inputs(node, std::move(inputs));
    if (node.last_row && made[0].error() == nullptr)
      made[0].node()->last_row = std::make_shared<Expr>(now(*node.last_row));
    for (std::uint32_t i = 0; i < made.size(); ++i) now_.emplace(ExprKey{&node, i}, made[i]);
  }

  void visit_branch(const Node& node) {
    const std::size_t results = node.outputs.size();
    std::vector<Expr> sides[2];
    for (std::size_t which = 0; which < 2; ++which)
      for (std::size_t i = 0; i < results; ++i) {
        const Expr& x = node.inputs[1 + which * results + i];
        const Parts made = operand(x);
        sides[which].push_back(made.re);
        if (is_complex_value(x)) sides[which].push_back(made.imaginary());
      }
    const std::vector<Expr> made = make_branch(now(node.inputs[0]), sides[0], sides[1]);
    if (made[0].error() == nullptr) made[0].node()->location = node.location;
    keep(node, paired(node, made));
  }

  /// Results in which each complex value is two results.
  static std::vector<Parts> paired(const Node& node, const std::vector<Expr>& made) {
    std::vector<Parts> results;
    std::size_t at = 0;
    for (const StaticType& type : node.outputs) {
      if (made[at].error() != nullptr) {
        results.assign(node.outputs.size(), {made[at], {}});
        return results;
      }
      const bool both = is_complex(type.dtype);
      results.push_back({made[at], both ? made[at + 1] : Expr()});
      at += both ? 2 : 1;
    }
    return results;
  }

  void visit_loop(const Node& node);

  std::map<ExprKey, Parts> parts_;
  Replacements now_;
};

/// A loop whose ports hold parts of complex values. Its body still has complex values, which are
/// made from the incoming parts and taken apart again.
class SplitLoop {
 public:
  explicit SplitLoop(const Node& node) : node_(node), ports_(node.loop->ports) {}

  /// Adds an operand and its argument.
  void add_input(const Expr& arg, const Parts& value, bool is_captured) {
    if (!is_complex_value(arg)) {
      inputs_.push_back(value.re);
      body_.args.push_back(arg);
      return;
    }
    const Expr re = placeholder(part_type(type_of(arg)), arg.name());
    add(re, value.re, ".real");
    if (is_captured && value.is_real()) {
      inside_.emplace(key_of(arg), cast(re, arg.dtype()));
      return;
    }
    const Expr im = placeholder(part_type(type_of(arg)), arg.name());
    add(im, value.imaginary(), ".imag");
    inside_.emplace(key_of(arg), apply(make_complex_op, {re, im}));
  }

  void add_leading_input(const Expr& x) { inputs_.push_back(x); }

  void add_yield(const Expr& x) {
    if (!is_complex_value(x)) {
      body_.yields.push_back(x);
      return;
    }
    body_.yields.push_back(real(x));
    body_.yields.push_back(imag(x));
  }

  /// Returns the results in order, complex ones as two.
  std::vector<Expr> made() {
    auto made = std::make_shared<Node>(Kind::loop, types());
    made->op = node_.op;
    made->inputs = std::move(inputs_);
    made->attrs = node_.attrs;
    made->loop = facts();
    body_.yields = substituted(body_.yields, inside_);
    made->body = std::move(body_);
    made->location = node_.location;
    std::vector<Expr> results;
    for (std::uint32_t i = 0; i < made->outputs.size(); ++i) results.emplace_back(made, i);
    if (const Expr* bad = first_failed(made->body.yields))
      std::ranges::fill(results, *bad);
    else if (const Expr* missing = first_failed(made->inputs))
      std::ranges::fill(results, *missing);
    return results;
  }

 private:
  void add(Expr arg, const Expr& value, const char* suffix) {
    if (!arg.name().empty()) arg.named(arg.name() + suffix);
    inputs_.push_back(value);
    body_.args.push_back(arg);
  }

  [[nodiscard]] std::vector<StaticType> types() const {
    std::vector<StaticType> all;
    for (const StaticType& type : node_.outputs)
      all.insert(all.end(), is_complex(type.dtype) ? 2 : 1, part_type(type));
    return all;
  }

  [[nodiscard]] LoopFacts facts() const {
    LoopFacts facts = *node_.loop;
    const auto width = [](const Expr& x) { return is_complex_value(x) ? 2u : 1u; };
    ir::LoopPorts& ports = facts.ports;
    ports.carried = 0;
    ports.scanned.clear();
    ports.stacked.clear();
    facts.state_of_row.clear();
    facts.updates = 0;
    std::vector<int> first_of_state;
    for (std::uint32_t i = 0; i < ports_.carried; ++i) {
      first_of_state.push_back(static_cast<int>(ports.carried));
      const unsigned both = width(node_.body.args[ports_.captured + i]);
      ports.carried += both;
      if (i + node_.loop->updates >= ports_.carried) facts.updates += both;
    }
    for (std::uint32_t i = 0; i < ports_.scanned.size(); ++i)
      ports.scanned.insert(ports.scanned.end(),
                           width(node_.body.args[ports_.captured + ports_.carried + i]),
                           ports_.scanned[i]);
    for (std::uint32_t i = 0; i < ports_.stacked.size(); ++i) {
      const unsigned both = width(node_.body.yields[ports_.first_stacked_yield() + i]);
      const int state = node_.loop->state_of_row[i];
      for (unsigned part = 0; part < both; ++part) {
        ports.stacked.push_back(ports_.stacked[i]);
        facts.state_of_row.push_back(state < 0 ? -1
                                               : first_of_state[static_cast<std::size_t>(state)] +
                                                     static_cast<int>(part));
      }
    }
    ports.captured = static_cast<std::uint32_t>(body_.args.size()) - ports.carried -
                     static_cast<std::uint32_t>(ports.scanned.size());
    return facts;
  }

  const Node& node_;
  const ir::LoopPorts& ports_;
  std::vector<Expr> inputs_;
  Body body_;
  Replacements inside_;
};

void Decomposition::visit_loop(const Node& node) {
  const ir::LoopPorts& ports = node.loop->ports;
  SplitLoop split(node);
  const std::size_t first = ports.first_captured_input();
  for (std::size_t i = 0; i < first; ++i) split.add_leading_input(now(node.inputs[i]));
  for (std::size_t i = 0; i < node.body.args.size(); ++i)
    split.add_input(node.body.args[i], operand(node.inputs[first + i]), i < ports.captured);
  for (const Expr& x : node.body.yields) split.add_yield(x);
  keep(node, paired(node, split.made()));
}

}  // namespace

std::vector<Expr> with_real_parts(const std::vector<Expr>& outputs) {
  const std::vector<const Node*> nodes = reachable_in_any_form(outputs);
  if (std::ranges::none_of(nodes, [](const Node* node) { return has_to_do_with_complex(*node); }))
    return outputs;
  Decomposition parts(outputs);
  std::vector<Expr> results;
  for (const Expr& x : outputs) results.push_back(parts.result(x));
  return results;
}

}  // namespace scanloom::expr
