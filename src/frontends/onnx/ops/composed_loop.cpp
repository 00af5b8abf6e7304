#include "frontends/onnx/ops/composed_loop.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// The loop node and its region, whose arguments are the inputs of a step.
struct OpenedLoop {
  ir::NodeId node;
  ir::RegionId region;
  ComposedLoop::Step step;
};

OpenedLoop open_loop(Composer& c, const ComposedLoop& loop, std::string_view name) {
  ir::Module& module = c.ctx().module();
  ir::LoopPorts ports{.has_trip_count = true,
                      .captured = static_cast<std::uint32_t>(loop.captured.size()),
                      .carried = static_cast<std::uint32_t>(loop.carried.size())};
  std::vector<ValueId> operands = {loop.steps};
  operands.insert(operands.end(), loop.captured.begin(), loop.captured.end());
  operands.insert(operands.end(), loop.carried.begin(), loop.carried.end());
  for (const ScannedValue& scanned : loop.scanned) {
    operands.push_back(scanned.value);
    ports.scanned.push_back({.axis = scanned.axis,
                             .start = loop.backwards ? -1 : 0,
                             .stride = loop.backwards ? -1 : 1});
  }
  for (const int axis : loop.stacked)
    ports.stacked.push_back({.axis = axis, .reverse = loop.backwards});
  ports.fixed_sizes = true;
  OpenedLoop opened;
  opened.node = module.add_node(c.builder().region(), ir::loop_op, std::move(operands), {}, {},
                                c.ctx().site().location);
  module.node(opened.node).loop = std::move(ports);
  opened.region = module.add_region(opened.node, std::string(name));
  module.node(opened.node).regions.push_back(opened.region);
  const auto argument = [&](tensor::Type type) {
    return module.add_argument(opened.region, std::move(type));
  };
  for (const ValueId value : loop.captured)
    opened.step.captured.push_back(argument(module.value(value).type));
  for (const ValueId value : loop.carried)
    opened.step.carried.push_back(argument(module.value(value).type));
  for (const ScannedValue& scanned : loop.scanned) {
    tensor::Type slice = module.value(scanned.value).type;
    slice.dims.erase(slice.dims.begin() + scanned.axis);
    opened.step.scanned.push_back(argument(std::move(slice)));
  }
  return opened;
}

bool can_scan(Composer& c, const ComposedLoop& loop) {
  for (const ScannedValue& scanned : loop.scanned) {
    if (!c.ok()) return false;
    const tensor::Type& type = c.ctx().type(scanned.value);
    if (!type.ranked || type.rank() <= scanned.axis)
      c.refuse(fail(Code::unsupported, "the sizes of its inputs do not match"));
  }
  return c.ok();
}

}  // namespace

std::vector<ValueId> make_loop(
    Composer& c, const ComposedLoop& loop, std::string_view name,
    const std::function<ComposedLoop::Yields(Composer&, const ComposedLoop::Step&)>& body) {
  if (!can_scan(c, loop)) return {};
  ir::Module& module = c.ctx().module();
  const OpenedLoop opened = open_loop(c, loop, name);
  ir::Builder builder(module, opened.region);
  builder.set_location(c.ctx().site().location);
  Composer inside(c.ctx(), builder);
  const ComposedLoop::Yields yields = body(inside, opened.step);
  if (Expected<void> done = inside.done(); !done) {
    c.refuse(std::move(done).error());
    return {};
  }
  std::vector<ValueId> results;
  for (const ValueId initial : loop.carried)
    results.push_back(module.add_output(opened.node, module.value(initial).type));
  for (std::size_t i = 0; i < yields.stacked.size(); ++i) {
    tensor::Type type = module.value(yields.stacked[i]).type;
    if (type.ranked) type.dims.insert(type.dims.begin() + loop.stacked[i], module.dims.fresh());
    results.push_back(module.add_output(opened.node, std::move(type)));
  }
  std::vector<ValueId>& all = module.region(opened.region).yields;
  all = yields.carried;
  all.insert(all.end(), yields.stacked.begin(), yields.stacked.end());
  return results;
}

}  // namespace scanloom::onnx
