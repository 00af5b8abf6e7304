#include "passes/loops/sequences.h"

#include <algorithm>

#include "passes/analysis/over_time.h"
#include "passes/rewrite/ports.h"

namespace scanloom::passes {

using ir::LoopPorts;
using ir::Module;
using ir::NodeId;
using ir::ValueId;

StepSequences::StepSequences(Module& module, NodeId loop, const KnownSizes& sizes, bool reverse,
                             std::optional<ir::Dim> steps)
    : module_(module),
      loop_(loop),
      reverse_(reverse),
      steps_(steps),
      stacked_before_(module.node(loop).loop->stacked.size()) {
  find_ports(sizes);
}

void StepSequences::find_ports(const KnownSizes& sizes) {
  const LoopPorts& ports = loop_ports();
  const ir::Node& node = module_.node(loop_);
  const std::vector<ValueId>& yields = module_.region(node.regions[0]).yields;
  for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
    const ir::StackedPort& port = ports.stacked[i];
    const ValueId result = node.outputs[ports.carried + i];
    if (!port.insert || port.reverse != reverse_ || !sizes.has(module_, result)) continue;
    const ir::Dim rows = module_.value(result).type.dims[static_cast<std::size_t>(port.axis)];
    if (rows != steps_.value_or(rows)) continue;
    steps_ = rows;
    ports_.push_back(i);
    stacked_as_.try_emplace(yields[ports.first_stacked_yield() + i], i);
  }
}

std::optional<std::size_t> StepSequences::scanned_as(ValueId value) const {
  const ir::Value& argument = module_.value(value);
  const std::size_t first = loop_ports().captured + loop_ports().carried;
  if (argument.producer.valid() || argument.index < first) return std::nullopt;
  const std::size_t port = argument.index - first;
  if (course_of(module_, loop_, port, {steps()}) != Course{reverse_, steps()}) return std::nullopt;
  return port;
}

void StepSequences::stack(const std::vector<ValueId>& values, std::int64_t axis) {
  std::vector<ir::StackedPort> added;
  std::vector<ir::Type> types;
  for (const ValueId value : values) {
    const ir::Type& type = module_.value(value).type;
    const std::int64_t along = std::min<std::int64_t>(axis, type.rank());
    stacked_as_[value] = loop_ports().stacked.size() + added.size();
    added.push_back({.axis = along, .reverse = reverse_});
    types.push_back(sequence_type(type, static_cast<int>(along), steps()));
  }
  add_stacked(module_, loop_, values, added, types);
}

void StepSequences::unstack() {
  KeptPorts kept(loop_ports());
  std::fill(kept.stacked.begin() + static_cast<std::ptrdiff_t>(stacked_before_), kept.stacked.end(),
            false);
  keep_ports(module_, loop_, kept);
}

Expected<void> StepSequences::enter(Outside& outside, ValueId value) const {
  if (const auto found = stacked_as_.find(value); found != stacked_as_.end()) {
    const std::size_t port = found->second;
    outside.set(value, {module_.node(loop_).outputs[loop_ports().carried + port],
                        static_cast<int>(loop_ports().stacked[port].axis)});
    return {};
  }
  SCANLOOM_TRY(const Lifted sequence,
               scanned_sequence(outside.builder(), loop_, *scanned_as(value)));
  outside.set(value, sequence);
  return {};
}

}  // namespace scanloom::passes
