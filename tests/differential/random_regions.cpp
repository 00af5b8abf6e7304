// Random branches and loops.
#include "tests/differential/random_maker.h"

#include <algorithm>

namespace scanloom::differential {

using ir::Dim;
using ir::LoopPorts;
using ir::NodeId;
using ir::Type;
using ir::ValueId;
using tensor::Tensor;

ValueId Maker::grown(Scope& scope, ValueId state, int axis) {
  const Type wanted = type(state);
  const auto part = pick(scope, [&](Type t) {
    if (t.dtype != wanted.dtype || t.rank() != wanted.rank() || !t.is_static()) return false;
    if (elements_of(t) > kMaxGrowing) return false;
    t.dims[static_cast<std::size_t>(axis)] = dim(wanted, axis);
    return t.dims == wanted.dims;
  });
  if (!part) return state;
  std::vector<ValueId> parts = {state, *part};
  if (chance(20)) std::ranges::reverse(parts);
  return add(scope, ops::concat_op, parts, {{"axis", axis}}).value_or(state);
}

std::vector<ValueId> Maker::some(const Scope& scope, int count) {
  std::vector<ValueId> chosen = scope.values;
  const bool any = chance(35);
  std::erase_if(chosen, [&](ValueId value) { return !any && !type(value).is_static(); });
  std::ranges::shuffle(chosen, random_);
  chosen.resize(std::min(chosen.size(), static_cast<std::size_t>(count)));
  return chosen;
}

Maker::Scope Maker::open(const Scope& outer, NodeId owner, const std::vector<Type>& arguments) {
  Scope scope{module_.add_region(owner), outer.depth + 1};
  module_.node(owner).regions.push_back(scope.region);
  for (const Type& argument : arguments)
    scope.values.push_back(module_.add_argument(scope.region, argument));
  return scope;
}

std::vector<Type> Maker::types_of(const std::vector<ValueId>& values) const {
  std::vector<Type> types;
  for (const ValueId value : values) types.push_back(type(value));
  return types;
}

void Maker::add_branch(Scope& scope) {
  if (scope.depth >= kDeepest) return;
  const std::vector<ValueId> captured = some(scope, between(1, 4));
  if (captured.empty()) return;
  const std::size_t results =
      static_cast<std::size_t>(between(1, static_cast<int>(captured.size())));
  std::vector<ValueId> inputs = {condition(scope)};
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  const std::vector<Type> types = types_of(captured);
  const NodeId branch = module_.add_node(
      scope.region, ir::branch_op, std::move(inputs), {},
      std::vector<Type>(types.begin(), types.begin() + static_cast<std::ptrdiff_t>(results)));
  for (int side = 0; side < 2; ++side) {
    Scope inner = open(scope, branch, types);
    const std::vector<ValueId> arguments = inner.values;
    grow(inner, between(0, 4));
    std::vector<ValueId> yields;
    for (std::size_t i = 0; i < results; ++i) yields.push_back(like(inner, arguments[i]));
    module_.region(inner.region).yields = std::move(yields);
  }
  for (const ValueId output : module_.node(branch).outputs) scope.values.push_back(output);
}

std::vector<std::pair<ValueId, int>> Maker::some_sequences(const Scope& scope,
                                                           std::optional<Dim> steps) {
  std::vector<std::pair<ValueId, int>> sequences;
  for (int i = between(0, 2); i > 0; --i) {
    const auto fits = [&](Dim size) { return steps ? size == *steps : true; };
    const auto x = pick(scope, [&](const Type& t) { return std::ranges::any_of(t.dims, fits); });
    if (!x) continue;
    std::vector<int> axes;
    for (int axis = 0; axis < type(*x).rank(); ++axis)
      if (fits(dim(type(*x), axis))) axes.push_back(axis);
    std::ranges::shuffle(axes, random_);
    Type slice = type(*x);
    slice.dims.erase(slice.dims.begin() + axes[0]);
    if (!slice.is_static()) continue;
    if (!steps) steps = dim(type(*x), axes[0]);
    sequences.emplace_back(*x, axes[0]);
  }
  return sequences;
}

void Maker::add_loop(Scope& scope) {
  if (scope.depth >= kDeepest) return;
  LoopPorts ports;
  std::vector<ValueId> inputs;
  std::optional<Dim> steps;
  if (scope.depth == 0 && chance(40)) {
    inputs.push_back(steps_);
    steps = module_.dims.symbol("T");
  } else if (chance(60)) {
    const auto count = static_cast<std::int64_t>(between(0, 6));
    inputs.push_back(constant(scope, Tensor::scalar(count)));
    steps = Dim(count);
  } else if (scope.depth > 0 && chance(40)) {
    inputs.push_back(decided_count(scope));
  }
  ports.has_trip_count = !inputs.empty();
  std::vector<std::pair<ValueId, int>> sequences;
  if (steps || inputs.empty()) sequences = some_sequences(scope, steps);
  if (inputs.empty() && sequences.empty()) return;
  if (inputs.empty()) steps = dim(type(sequences[0].first), sequences[0].second);
  if (chance(15)) {
    ports.has_condition = true;
    inputs.push_back(condition(scope));
  }
  const std::vector<ValueId> captured = some(scope, between(0, 3));
  const std::vector<ValueId> states = some(scope, between(0, 3));
  std::vector<Type> arguments = types_of(captured);
  std::vector<int> growing_axes;  // by state; -1: it keeps its sizes
  for (std::size_t i = 0; i < states.size(); ++i) {
    arguments.push_back(type(states[i]));
    growing_axes.push_back(-1);
    // Inner loops would take very long over what outer ones have grown.
    const bool small = scope.depth == 0 && elements_of(arguments.back()) <= kMaxGrowing;
    if (captured.empty() || arguments.back().rank() == 0 || !small || !chance(30)) continue;
    growing_axes.back() = between(0, arguments.back().rank() - 1);
    arguments.back().dims[static_cast<std::size_t>(growing_axes.back())] = module_.dims.fresh();
  }
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  inputs.insert(inputs.end(), states.begin(), states.end());
  for (const auto& [sequence, axis] : sequences) {
    inputs.push_back(sequence);
    arguments.push_back(type(sequence));
    arguments.back().dims.erase(arguments.back().dims.begin() + axis);
    const bool back = chance(30);
    ports.scanned.push_back({.axis = axis, .start = back ? -1 : 0, .stride = back ? -1 : 1});
  }
  ports.captured = static_cast<std::uint32_t>(captured.size());
  ports.carried = static_cast<std::uint32_t>(states.size());
  std::vector<Type> results(arguments.begin() + ports.captured,
                            arguments.begin() + ports.captured + ports.carried);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (growing_axes[i] >= 0)
      results[i].dims[static_cast<std::size_t>(growing_axes[i])] = module_.dims.fresh();
  const NodeId loop = module_.add_node(scope.region, ir::loop_op, std::move(inputs), {}, results);
  Scope body = open(scope, loop, arguments);
  fill(body, loop, ports, steps, growing_axes);
  for (const ValueId output : module_.node(loop).outputs)
    if (elements_of(type(output)) <= kMaxElements) scope.values.push_back(output);
}

void Maker::fill(Scope& body, NodeId loop, LoopPorts& ports, std::optional<Dim> steps,
                 const std::vector<int>& growing_axes) {
  const std::vector<ValueId> arguments = body.values;
  grow(body, between(1, 9));
  std::vector<ValueId> yields;
  if (chance(20)) {
    ports.has_keep_going = true;
    yields.push_back(condition(body));
  }
  for (std::uint32_t i = 0; i < ports.carried; ++i) {
    const ValueId state = arguments[ports.captured + i];
    yields.push_back(growing_axes[i] < 0 ? like(body, state) : grown(body, state, growing_axes[i]));
  }
  const bool counted = steps && !ports.has_keep_going && !ports.has_condition;
  for (const ValueId row : some(body, between(ports.carried == 0 ? 1 : 0, 3))) {
    Type stacked = type(row);
    const bool insert = stacked.rank() == 0 || chance(90);
    const int axis = between(0, stacked.rank() - (insert ? 0 : 1));
    const Dim rows = counted && insert ? *steps : module_.dims.fresh();
    if (insert) stacked.dims.insert(stacked.dims.begin() + axis, rows);
    stacked.dims[static_cast<std::size_t>(axis)] = rows;
    ports.stacked.push_back({.axis = axis, .reverse = chance(25), .insert = insert});
    module_.add_output(loop, std::move(stacked));
    yields.push_back(row);
  }
  module_.region(body.region).yields = std::move(yields);
  module_.node(loop).loop = ports;
}

}  // namespace scanloom::differential
