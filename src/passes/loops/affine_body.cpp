#include "passes/loops/affine_body.h"

#include <algorithm>

#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {

using ir::Builder;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

namespace {

bool is_element(const Module& module, ValueId value) {
  const Type& type = module.value(value).type;
  return type.is_tensor() && type.ranked && type.rank() == 0;
}

/// Whether the node computes one element from others, and nothing else.
bool is_elementwise(const Module& module, const Node& node) {
  if (node.op == &ir::constant_op) return is_element(module, node.outputs[0]);
  const auto fits = [&](ValueId value) { return value.valid() && is_element(module, value); };
  return node.op->access == ir::Access::pointwise && node.op->effects == ir::Effects::pure &&
         node.outputs.size() == 1 && fits(node.outputs[0]) &&
         std::ranges::all_of(node.inputs, fits);
}

bool is_floating_point(const Module& module, ValueId value) {
  const DType dtype = module.value(value).type.dtype;
  return dtype == DType::f32 || dtype == DType::f64;
}

}  // namespace

AffineBody::AffineBody(const Module& module, NodeId loop) {
  const ir::LoopPorts& ports = *module.node(loop).loop;
  const ir::Region& body = module.region(module.node(loop).regions[0]);
  args_ = body.args;
  nodes_ = body.nodes;
  captured_ = ports.captured;
  const auto first = body.yields.begin() + ports.first_carried_yield();
  nexts_.assign(first, first + ports.carried);
  rows_.assign(first + ports.carried, body.yields.end());
}

std::optional<AffineBody> AffineBody::of(const Module& module, NodeId loop) {
  AffineBody body(module, loop);
  if (!body.find_needs(module)) return std::nullopt;
  body.find_sums(module);
  if (!body.order_chains(module)) return std::nullopt;
  body.find_needed(module);
  return body;
}

bool AffineBody::find_needs(const Module& module) {
  const auto fits = [&](ValueId arg) { return is_element(module, arg); };
  if (!std::ranges::all_of(args_, fits)) return false;
  for (std::size_t i = 0; i < nexts_.size(); ++i) {
    if (!is_floating_point(module, argument_of(i))) return false;
    needs_[argument_of(i)] = {i};
  }
  for (const NodeId id : nodes_) {
    const Node& node = module.node(id);
    if (!is_elementwise(module, node)) return false;
    std::set<std::size_t>& needs = needs_[node.outputs[0]];
    for (const ValueId input : node.inputs)
      needs.insert(needs_[input].begin(), needs_[input].end());
  }
  return true;
}

void AffineBody::find_sums(const Module& module) {
  std::map<ValueId, int> reads;
  for (const NodeId id : nodes_)
    for (const ValueId input : module.node(id).inputs) ++reads[input];
  for (const auto* yields : {&nexts_, &rows_})
    for (const ValueId yield : *yields) ++reads[yield];
  for (std::size_t i = 0; i < nexts_.size(); ++i) {
    part_of_sum_.emplace_back();
    const Node* add = made_by(module, nexts_[i], ops::add_op);
    if (add == nullptr || reads[nexts_[i]] != 1 || reads[argument_of(i)] != 1) continue;
    for (const std::size_t side : {0, 1})
      if (add->inputs[side] == argument_of(i)) part_of_sum_.back() = add->inputs[1 - side];
  }
}

/// Whether the state's next value is the state times a factor plus a term, neither of which reads
/// the state.
bool AffineBody::is_affine(const Module& module, std::size_t state) const {
  return std::ranges::all_of(path_to(module, state), [&](NodeId id) {
    const Node& node = module.node(id);
    const auto reads = [&](std::size_t operand) {
      return needs_.at(node.inputs[operand]).contains(state);
    };
    if (node.op == &ops::mul_op) return !reads(0) || !reads(1);
    if (node.op == &ops::div_op) return !reads(1);
    if (node.op == &ops::where_op) return !reads(0);
    return node.op == &ops::add_op || node.op == &ops::sub_op || node.op == &ops::neg_op ||
           node.op == &ops::identity_op;
  });
}

/// The nodes between a state and its next value, in order.
std::vector<NodeId> AffineBody::path_to(const Module& module, std::size_t state) const {
  std::set<ValueId> wanted{nexts_[state]};
  std::vector<NodeId> path;
  for (auto id = nodes_.rbegin(); id != nodes_.rend(); ++id) {
    const Node& node = module.node(*id);
    if (!wanted.contains(node.outputs[0]) || !needs_.at(node.outputs[0]).contains(state)) continue;
    path.push_back(*id);
    wanted.insert(node.inputs.begin(), node.inputs.end());
  }
  std::ranges::reverse(path);
  return path;
}

bool AffineBody::order_chains(const Module& module) {
  std::set<std::size_t> open;
  for (std::size_t i = 0; i < nexts_.size(); ++i)
    if (!is_sum(i)) open.insert(i);
  std::set<std::size_t> known;
  while (!open.empty()) {
    const auto next = std::ranges::find_if(open, [&](std::size_t i) {
      std::set<std::size_t> reads = needs_[nexts_[i]];
      return reads.erase(i) == 1 && std::ranges::includes(known, reads);
    });
    if (next == open.end() || !is_affine(module, *next)) return false;
    chains_.push_back(*next);
    paths_.push_back(path_to(module, *next));
    if (paths_.back().empty()) return false;
    known.insert(*next);
    open.erase(next);
  }
  const auto reads_sum = [&](const auto& value) {
    return !std::ranges::includes(known, needs_[value]);
  };
  for (std::size_t i = 0; i < nexts_.size(); ++i)
    if (is_sum(i) && reads_sum(part_of_sum_[i])) return false;
  return !chains_.empty() && std::ranges::none_of(rows_, reads_sum);
}

void AffineBody::find_needed(const Module& module) {
  needed_.insert(rows_.begin(), rows_.end());
  for (const ValueId part : part_of_sum_)
    if (part.valid()) needed_.insert(part);
  std::set<ValueId> given(args_.begin(), args_.end());
  for (std::size_t chain = 0; chain < chains_.size(); ++chain) {
    given.insert(nexts_[chains_[chain]]);
    for (const NodeId id : paths_[chain])
      for (const ValueId input : module.node(id).inputs)
        if (!needs_[input].contains(chains_[chain])) needed_.insert(input);
  }
  for (auto id = nodes_.rbegin(); id != nodes_.rend(); ++id) {
    const Node& node = module.node(*id);
    if (needed_.contains(node.outputs[0]) && !given.contains(node.outputs[0]))
      needed_.insert(node.inputs.begin(), node.inputs.end());
  }
}

std::int64_t AffineBody::longest_path() const {
  std::size_t longest = 0;
  for (const std::vector<NodeId>& path : paths_) longest = std::max(longest, path.size());
  return static_cast<std::int64_t>(longest);
}

/// Appends to a region the nodes that compute a number of steps.
class AffineRows {
 public:
  AffineRows(const AffineBody& body, Builder& builder, std::int64_t steps, bool backward)
      : body_(body), builder_(builder), steps_(steps), backward_(backward) {}

  Expected<StepRows> build(const std::vector<ValueId>& arguments) {
    StepRows result{.states = std::vector<ValueId>(body_.nexts_.size()), .stacked = {}};
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (!is_state(i)) values_[body_.args_[i]] = arguments[i];
    SCANLOOM_CHECK_OK(add_ready());
    for (std::size_t chain = 0; chain < body_.chains_.size(); ++chain) {
      const std::size_t state = body_.chains_[chain];
      SCANLOOM_TRY(result.states[state], solve(chain, arguments[body_.captured_ + state]));
      SCANLOOM_CHECK_OK(add_ready());
    }
    for (std::size_t i = 0; i < result.states.size(); ++i)
      if (body_.is_sum(i)) {
        SCANLOOM_TRY(result.states[i], row(values_.at(body_.part_of_sum_[i])));
      }
    for (const ValueId value : body_.rows_) {
      SCANLOOM_TRY(const ValueId rows, row(values_.at(value)));
      result.stacked.push_back(rows);
    }
    return result;
  }

 private:
  /// A value as factor * state + term. An invalid one is 0, the state itself represents 1:
  /// constants are made where they are needed.
  struct Affine {
    ValueId factor, term;
  };

  [[nodiscard]] bool is_state(std::size_t argument) const {
    return argument >= body_.captured_ && argument < body_.captured_ + body_.nexts_.size();
  }

  /// Adds what is needed and can be computed from available values.
  Expected<void> add_ready() {
    for (const NodeId id : body_.nodes_) {
      const Node node = builder_.module().node(id);  // by value: adding nodes may move it
      const auto is_there = [&](ValueId input) { return values_.contains(input); };
      if (!body_.needed_.contains(node.outputs[0]) || is_there(node.outputs[0]) ||
          !std::ranges::all_of(node.inputs, is_there))
        continue;
      if (node.op == &ir::constant_op) {
        values_[node.outputs[0]] = builder_.constant(node.attrs[0].tensor());
        continue;
      }
      std::vector<ValueId> inputs;
      for (const ValueId input : node.inputs) inputs.push_back(values_.at(input));
      SCANLOOM_TRY(values_[node.outputs[0]],
                   builder_.op(*node.op, std::move(inputs), attrs_of(node)));
    }
    return {};
  }

  /// Computes the states of all steps; returns the last one.
  Expected<ValueId> solve(std::size_t chain, ValueId initial) {
    const std::size_t state = body_.chains_[chain];
    const ValueId argument = body_.argument_of(state), next = body_.nexts_[state];
    state_ = argument;
    std::map<ValueId, Affine> forms{{argument, {state_, {}}}};
    for (const NodeId id : body_.paths_[chain]) {
      const Node node = builder_.module().node(id);  // by value: adding nodes may move it
      SCANLOOM_TRY(forms[node.outputs[0]], form_of(node, forms));
    }
    const Affine form = forms.at(next);
    SCANLOOM_TRY(const ValueId factors, row(made(form.factor)));
    SCANLOOM_TRY(const ValueId terms, row(made(form.term)));
    SCANLOOM_TRY(const ValueId states, builder_.op(ops::affine_scan_op, {factors, terms, initial},
                                                   {{"reverse", std::int64_t{backward_}}}));
    if (body_.needed_.contains(argument)) {
      SCANLOOM_TRY(values_[argument], part(states, backward_ ? 1 : 0, steps_));
    }
    if (body_.needed_.contains(next)) {
      SCANLOOM_TRY(values_[next], part(states, backward_ ? 0 : 1, steps_));
    }
    SCANLOOM_TRY(const ValueId last, part(states, backward_ ? 0 : steps_, 1));
    return builder_.op(ops::squeeze_op, {last}, {{"axes", std::vector<std::int64_t>{0}}});
  }

  Expected<Affine> form_of(const Node& node, const std::map<ValueId, Affine>& forms) {
    const auto operand = [&](std::size_t i) {
      const auto found = forms.find(node.inputs[i]);
      return found != forms.end() ? found->second : Affine{{}, values_.at(node.inputs[i])};
    };
    Affine result;
    if (node.op == &ops::identity_op) return operand(0);
    if (node.op == &ops::mul_op || node.op == &ops::div_op) {
      const std::size_t other = forms.contains(node.inputs[0]) ? 1 : 0;
      const Affine x = operand(1 - other);
      const ValueId by = values_.at(node.inputs[other]);
      SCANLOOM_TRY(result.factor, scaled(*node.op, x.factor, by));
      SCANLOOM_TRY(result.term, scaled(*node.op, x.term, by));
      return result;
    }
    if (node.op == &ops::where_op) {
      const ValueId condition = values_.at(node.inputs[0]);
      const Affine x = operand(1), y = operand(2);
      SCANLOOM_TRY(result.factor, chosen(condition, x.factor, y.factor));
      SCANLOOM_TRY(result.term, chosen(condition, x.term, y.term));
      return result;
    }
    const Affine x = node.op == &ops::neg_op ? Affine{} : operand(0);
    const Affine y = node.op == &ops::neg_op ? operand(0) : operand(1);
    const bool adds = node.op == &ops::add_op;
    SCANLOOM_TRY(result.factor, joined(adds, x.factor, y.factor));
    SCANLOOM_TRY(result.term, joined(adds, x.term, y.term));
    return result;
  }

  Expected<ValueId> scaled(const ir::OpDef& op, ValueId x, ValueId by) {
    if (!x.valid()) return x;
    if (x == state_ && &op == &ops::mul_op) return by;
    return builder_.op(op, {made(x), by});
  }

  Expected<ValueId> chosen(ValueId condition, ValueId x, ValueId y) {
    if (x == y) return x;
    return builder_.op(ops::where_op, {condition, made(x), made(y)});
  }

  Expected<ValueId> joined(bool adds, ValueId x, ValueId y) {
    if (!y.valid()) return x;
    if (!x.valid() && adds) return y;
    if (!x.valid()) return builder_.op(ops::neg_op, {made(y)});
    return builder_.op(adds ? ops::add_op : ops::sub_op, {made(x), made(y)});
  }

  ValueId made(ValueId value) {
    if (value.valid() && value != state_) return value;
    const double number = value.valid() ? 1 : 0;
    const bool is_float = builder_.module().value(state_).type.dtype == DType::f32;
    return builder_.constant(is_float ? tensor::Tensor::scalar(static_cast<float>(number))
                                      : tensor::Tensor::scalar(number));
  }

  /// Returns the value, expanded to all steps if it is the same in each.
  Expected<ValueId> row(ValueId value) {
    if (builder_.module().value(value).type.rank() == 1) return value;
    return builder_.op(ops::expand_op, {value, list_of(builder_, {steps_})});
  }

  Expected<ValueId> part(ValueId rows, std::int64_t first, std::int64_t count) {
    return builder_.op(ops::slice_op, {rows, list_of(builder_, {first}),
                                       list_of(builder_, {first + count}), list_of(builder_, {0})});
  }

  const AffineBody& body_;
  Builder& builder_;
  const std::int64_t steps_;
  const bool backward_;
  std::map<ValueId, ValueId> values_;  ///< of the body: for all steps, or the same in all
  ValueId state_;                      ///< the argument of the chain that is being solved
};

Expected<StepRows> AffineBody::rows(Builder& builder, const std::vector<ValueId>& arguments,
                                    std::int64_t steps, bool backward) const {
  return AffineRows(*this, builder, steps, backward).build(arguments);
}

}  // namespace scanloom::passes
