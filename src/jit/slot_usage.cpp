#include "jit/slot_usage.h"

#include <vector>

#include "loopnest/access.h"

namespace scanloom::jit {

using loopnest::Access;
using loopnest::DynamicIndex;
using loopnest::InnerLoop;
using loopnest::InnerState;
using loopnest::LocalState;
using loopnest::Nest;
using loopnest::Reduction;
using loopnest::SlotMove;
using loopnest::SlotSet;
using loopnest::SlotSwap;
using loopnest::Statement;

namespace {

void add_used(SlotUsage& usage, std::int32_t slot) {
  if (slot >= 0) usage.used.insert(slot);  // others name the code's own memory
}

void add_set(SlotUsage& usage, const SlotSet& set) {
  usage.moved.insert(set.slot);
  add_used(usage, set.from);
}

void add_nest(SlotUsage& usage, const Nest& nest) {
  for (const Access& read : nest.reads) add_used(usage, read.slot);
  for (const Access& write : nest.writes) add_used(usage, write.slot);
  loopnest::for_indices(nest, [&](const DynamicIndex& index) { add_used(usage, index.slot); });
  for (const Reduction& reduction : nest.reductions)
    for (const Access& read : reduction.reads) add_used(usage, read.slot);
}

void add_loop(SlotUsage& usage, const InnerLoop& loop) {
  for (const auto* operand : {&loop.trip_count, &loop.condition, &loop.keep_going})
    if (*operand) add_used(usage, (*operand)->slot);
  for (const auto* sets : {&loop.skipped, &loop.before, &loop.after})
    for (const SlotSet& set : *sets) add_set(usage, set);
  for (const SlotMove& move : loop.moves) usage.moved.insert(move.slot);
  for (const InnerState& state : loop.states) {
    usage.moved.insert({state.argument, state.next});
    add_set(usage, state.second);
  }
}

// Recurses no deeper than kMaxStatementDepth.
void add_statements(SlotUsage& usage, const std::vector<Statement>& statements) {
  for (const Statement& statement : statements) {
    usage.has_calls |= statement.kind == Statement::Kind::call;
    usage.charges_time |= statement.kind == Statement::Kind::charge;
    add_nest(usage, statement.nest);
    if (statement.kind == Statement::Kind::dynamic_slice)
      add_used(usage, statement.slice.index.slot);
    if (statement.kind == Statement::Kind::branch) add_used(usage, statement.condition.slot);
    if (statement.kind == Statement::Kind::set) add_set(usage, statement.set);
    add_loop(usage, statement.loop);
    add_statements(usage, statement.inner);
    add_statements(usage, statement.otherwise);
  }
}

}  // namespace

SlotUsage slot_usage_of(const loopnest::BodySource& source) {
  SlotUsage usage;
  if (source.keep_going) usage.used.insert(source.keep_going->slot);
  for (const SlotMove& move : source.moves) usage.moved.insert(move.slot);
  for (const SlotSwap& swap : source.swaps) usage.moved.insert({swap.a, swap.b});
  for (const LocalState& state : source.states) usage.used.insert(state.slot);
  add_statements(usage, source.statements);
  usage.used.insert(usage.moved.begin(), usage.moved.end());
  return usage;
}

}  // namespace scanloom::jit
