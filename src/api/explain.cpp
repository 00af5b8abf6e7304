// What became of every loop, in words.
#include "api/impl.h"
#include "ir/op_def.h"
#include "ir/walk.h"

namespace scanloom {
namespace {

std::string type_text(const ir::Module& module, ir::ValueId id) {
  return tensor::to_string(module.value(id).type, module.dims);
}

bool is_object(const ir::Module& module, ir::ValueId id) {
  const tensor::Type& type = module.value(id).type;
  return !type.is_tensor() || type.dtype == DType::string;
}

std::string row(std::string_view label, const std::string& text) {
  return fmt::format("  {:<10}{}\n", label, text);
}

std::string steps_text(std::int64_t trip_count) {
  if (trip_count < 0) return "steps known when running";
  return trip_count == 1 ? "1 step" : std::to_string(trip_count) + " steps";
}

std::string ports_text(const ir::Module& module, const ir::Node& node) {
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = module.region(node.regions[0]);
  std::string text;
  if (ports.captured > 0) text += row("captured", fmt::format("{} values", ports.captured));
  for (std::uint32_t i = 0; i < ports.carried; ++i) {
    const ir::ValueId state = body.args[ports.captured + i];
    text += row("carried", type_text(module, state) +
                               (is_object(module, state)
                                    ? ", a reference that is handed on"
                                    : ", two buffers that take turns, read through a pointer at "
                                      "the end"));
  }
  for (std::size_t i = 0; i < ports.scanned.size(); ++i) {
    const ir::ScannedPort& port = ports.scanned[i];
    const ir::ValueId outer = node.inputs[ports.first_scanned_input() + i];
    text += row("scanned", fmt::format("{} along axis {}{}: a {}", module.describe(outer),
                                       port.axis, port.stride < 0 ? ", backwards" : "",
                                       is_object(module, outer) ? "copy of each slice of strings"
                                                                : "view, no copy"));
  }
  for (std::size_t i = 0; i < ports.stacked.size(); ++i)
    text += row("stacked",
                fmt::format("{} along axis {}{}", module.describe(node.outputs[ports.carried + i]),
                            ports.stacked[i].axis, ports.stacked[i].reverse ? ", backwards" : ""));
  return text;
}

}  // namespace

std::string Session::explain() const {
  const ir::Module& module = impl_->plan->module;
  std::vector<std::shared_ptr<BoundEntry>> bound;
  {
    const std::scoped_lock lock(impl_->mutex);
    bound = impl_->bound;
  }
  std::string text;
  for (const ir::RegionId region : ir::regions_outer_first(module, module.top()))
    for (const ir::NodeId id : module.region(region).nodes) {
      const ir::Node& node = module.node(id);
      if (node.op != &ir::loop_op) continue;
      text += "loop " + module.describe(id) + "\n";
      text += ports_text(module, node);
      bool known = false;
      for (const auto& entry : bound)
        for (const plan::BoundLoop& loop : entry->binding->loops)
          if (loop.node == id) {
            text += row("strategy", loop.strategy + " (" + steps_text(loop.trip_count) + ")");
            known = true;
          }
      if (!known) text += row("strategy", "chosen when the sizes of the inputs are known");
    }
  if (text.empty()) text = "no loops are left after optimization\n";
  return text;
}

std::string Session::plan() const { return plan::print(*impl_->plan); }

Expected<std::string> Session::plan(std::span<const Feed> feeds) const {
  SCANLOOM_TRY(const Arranged arranged, impl_->arrange(feeds));
  SCANLOOM_TRY(const auto entry, impl_->bind(arranged.shapes));
  return plan::print(*entry->binding);
}

}  // namespace scanloom
