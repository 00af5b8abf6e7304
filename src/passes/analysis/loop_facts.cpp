#include "passes/analysis/loop_facts.h"

#include <algorithm>

#include "ir/op_def.h"
#include "ir/scan_window.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::Type;
using ir::ValueId;

/// The condition for another step, if it is constant; true if there is none.
std::optional<bool> keeps_going(const Module& module, const Node& loop) {
  if (!loop.loop->has_keep_going) return true;
  return known_boolean(module, module.region(loop.regions[0]).yields[0]);
}

std::optional<bool> first_runs(const Module& module, const Node& loop) {
  if (!loop.loop->has_condition) return true;
  return known_boolean(module, loop.inputs[loop.loop->has_trip_count]);
}

/// The constant trip count as written, which may mean "no limit".
std::optional<std::int64_t> written_trip_count(const Module& module, const Node& loop) {
  if (!loop.loop->has_trip_count) return std::nullopt;
  const tensor::Tensor* count = constant_of(module, loop.inputs[0]);
  if (count == nullptr || count->elements() != 1 || count->dtype() != DType::i64)
    return std::nullopt;
  return count->as<std::int64_t>()[0];
}

bool is_one_element(const Type& type) {
  return type.is_tensor() && type.is_static() && type.shape().elements() == 1;
}

}  // namespace

std::optional<std::int64_t> known_integer(const Module& module, ValueId value) {
  const tensor::Tensor* constant = constant_of(module, value);
  if (constant == nullptr || constant->elements() != 1) return std::nullopt;
  const auto values = to_integers(*constant);
  if (!values) return std::nullopt;
  return (*values)[0];
}

std::optional<bool> known_boolean(const Module& module, ValueId value) {
  const auto number = known_integer(module, value);
  if (!number) return std::nullopt;
  return *number != 0;
}

std::optional<std::int64_t> known_trip_count(const Module& module, const Node& loop) {
  const auto steps = written_trip_count(module, loop);
  if (!steps || *steps >= ir::kEndlessTripCount) return std::nullopt;
  return std::max<std::int64_t>(*steps, 0);
}

bool counts_without_end(const Module& module, const Node& loop) {
  return written_trip_count(module, loop).value_or(0) >= ir::kEndlessTripCount;
}

bool runs_to_the_end(const Module& module, const Node& loop) {
  return first_runs(module, loop) == true && keeps_going(module, loop) == true;
}

bool is_in_loop(const Module& module, ir::RegionId region) {
  ir::NodeId owner = module.region(region).owner;
  while (owner.valid() && module.node(owner).op != &ir::loop_op)
    owner = module.region(module.node(owner).parent).owner;
  return owner.valid();
}

std::optional<std::int64_t> known_slices(const Module& module, const Node& loop,
                                         std::size_t scanned) {
  const ir::ScannedPort& port = loop.loop->scanned[scanned];
  const Type& type = module.value(loop.inputs[loop.loop->first_scanned_input() + scanned]).type;
  if (!type.ranked || port.axis >= type.rank()) return std::nullopt;
  const ir::Dim size = type.dims[static_cast<std::size_t>(port.axis)];
  if (!size.is_constant()) return std::nullopt;
  return ir::scan_window(port, size.value()).count;
}

std::optional<std::int64_t> counted_steps(const Module& module, const Node& loop) {
  std::int64_t steps = ir::kEndlessTripCount;
  if (loop.loop->has_trip_count) {
    const auto count = known_trip_count(module, loop);
    if (!count) return std::nullopt;
    steps = *count;
  }
  for (std::size_t i = 0; i < loop.loop->scanned.size(); ++i) {
    const auto slices = known_slices(module, loop, i);
    if (!slices) return std::nullopt;
    if (steps == ir::kEndlessTripCount) steps = *slices;
    if (*slices < steps) return std::nullopt;
    if (*slices > steps && !loop.loop->has_trip_count) return std::nullopt;
  }
  return steps;
}

std::optional<std::int64_t> known_steps(const Module& module, const Node& loop) {
  const auto runs = first_runs(module, loop);
  // Too few slices are an error even if no step is taken.
  if (runs == false && loop.loop->scanned.empty()) return 0;
  auto steps = counted_steps(module, loop);
  if (!runs || !steps) return std::nullopt;
  if (!*runs) return 0;
  const auto going = keeps_going(module, loop);
  if (going == false) steps = std::min<std::int64_t>(*steps, 1);
  if (!going) {
    const ValueId yielded = module.region(loop.regions[0]).yields[0];
    if (*steps > 1 || !is_one_element(module.value(yielded).type)) return std::nullopt;
  }
  if (*steps == ir::kEndlessTripCount) return std::nullopt;
  return steps;
}

// A trip count that means "no limit" leaves the number of steps to the slices, if there are any.
bool surely_steps(const Module& module, const Node& loop) {
  if (first_runs(module, loop) != true) return false;
  if (loop.loop->has_trip_count && !counts_without_end(module, loop))
    return known_trip_count(module, loop).value_or(0) > 0;
  if (loop.loop->scanned.empty()) return true;
  for (std::size_t i = 0; i < loop.loop->scanned.size(); ++i)
    if (known_slices(module, loop, i).value_or(0) > 0) return true;
  return false;
}

bool sizes_are_sure(const Module& module, const Type& type) {
  return type.ranked && std::ranges::none_of(type.dims, [&](ir::Dim dim) {
           return module.dims.uses_fresh_from(dim, 0);
         });
}

bool yields_fit(const Module& module, const Node& loop, bool many) {
  const LoopPorts& ports = *loop.loop;
  const ir::Region& body = module.region(loop.regions[0]);
  for (std::size_t i = 0; ports.fixed_sizes && i < ports.carried; ++i) {
    const Type& first = module.value(loop.inputs[ports.first_carried_input() + i]).type;
    const Type& next = module.value(body.yields[ports.first_carried_yield() + i]).type;
    if (first.is_tensor() && (!first.ranked || first != next)) return false;
  }
  for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
    const Type& row = module.value(body.yields[ports.first_stacked_yield() + i]).type;
    const int rank = row.rank() + ports.stacked[i].insert;
    if (!row.ranked || rank > tensor::kMaxRank || ports.stacked[i].axis >= rank) return false;
    if (many && !sizes_are_sure(module, row)) return false;
  }
  return true;
}

bool is_plain(const Module& module, ir::RegionId body, bool may_fail) {
  return std::ranges::all_of(module.region(body).nodes, [&](ir::NodeId id) {
    const Node& node = module.node(id);
    const bool quiet = node.op->effects == ir::Effects::pure ||
                       (may_fail && node.op->effects == ir::Effects::may_fail);
    return node.regions.empty() && quiet;
  });
}

}  // namespace scanloom::passes
