// Describes every loop in words.
#include <algorithm>
#include <utility>

#include "api/guard.h"
#include "api/impl.h"
#include "api/machine.h"
#include "api/many_program.h"
#include "base/one_line.h"
#include "ir/op_def.h"
#include "ir/port_names.h"
#include "ir/size_names.h"
#include "ir/walk.h"
#include "plan/step_work.h"

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

/// `last`: the steps of the loop's last execution; -1: none, or the loop is inside another.
std::string steps_text(std::int64_t trip_count, std::int64_t last) {
  if (trip_count >= 0) return plan::counted(trip_count, "step");
  return last < 0 ? "number of steps known at run time"
                  : plan::counted(last, "step") + " in the last run";
}

std::int64_t last_steps(BoundEntry& entry, std::size_t loop) {
  const std::scoped_lock lock(entry.mutex);
  return entry.loop_steps.empty() ? -1 : entry.loop_steps[loop];
}

/// "65 ", "4.1 k", "82 M": three digits are enough for people; a unit follows.
std::string rounded(double number) {
  constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  for (; number >= 999.5 && prefix + 1 < std::size(kPrefixes); ++prefix) number /= 1000;
  return fmt::format("{:.3g} {}", number, kPrefixes[prefix]);
}

std::string bytes_text(std::int64_t bytes) { return rounded(static_cast<double>(bytes)) + "B"; }

std::string operations_text(double operations) {
  const std::string text = rounded(operations);
  return text + (text.back() == ' ' ? "operations" : " operations");
}

std::string time_text(double seconds) {
  constexpr std::string_view kUnits[] = {"ns", "us", "ms", "s"};
  double number = seconds * 1e9;
  std::size_t unit = 0;
  for (; number >= 999.5 && unit + 1 < std::size(kUnits); ++unit) number /= 1000;
  return fmt::format("{:.3g} {}", number, kUnits[unit]);
}

/// The sum over all idle runs.
runtime::LoopTime measured(BoundEntry& entry, std::size_t loop) {
  const std::scoped_lock lock(entry.mutex);
  runtime::LoopTime sum;
  for (const auto& run : entry.idle) {
    const runtime::LoopTime& time = run->loop_times()[loop];
    sum.steps += time.steps;
    sum.seconds += time.seconds;
    sum.threads = std::max(sum.threads, time.threads);
  }
  return sum;
}

std::string cost_text(BoundEntry& entry, std::size_t index) {
  const plan::BoundLoop& loop = entry.binding->loops[index];
  const plan::StepWork work = plan::step_work(*entry.binding, loop);
  std::string text = fmt::format("{}{} and {} per step, {} of state",
                                 work.is_all ? "" : "at least ", bytes_text(work.bytes),
                                 operations_text(work.operations), bytes_text(work.state_bytes));
  const runtime::LoopTime time = measured(entry, index);
  if (time.steps > 0)
    text += fmt::format("; measured {} per step over {}",
                        time_text(time.seconds / static_cast<double>(time.steps)),
                        plan::counted(time.steps, "step"));
  if (time.threads > 1) text += fmt::format(", on {} threads", time.threads);
  const std::optional<MachineFigures> figures = known_figures();
  if (!figures || !work.is_all || work.bytes + work.state_bytes == 0) return text;
  const double least =
      min_seconds(*figures, static_cast<double>(work.bytes + work.state_bytes), work.operations);
  text += fmt::format("; the roofline of one core is {}", time_text(least));
  if (time.steps > 0)
    text +=
        fmt::format(", {:.3g} times less", time.seconds / static_cast<double>(time.steps) / least);
  return text;
}

/// The memory of a run with the sizes of a binding, plus what depends on data, as known from the
/// last run.
std::string memory_text(BoundEntry& entry) {
  const plan::Binding& binding = *entry.binding;
  const std::scoped_lock lock(entry.mutex);
  const std::int64_t known = binding.arena_bytes + binding.result_bytes + binding.scratch_bytes;
  const bool is_all = binding.dynamic_count == 0 && binding.objects.empty();
  if (!is_all && entry.runs > 0)
    return fmt::format(
        "memory {} for a run like the last one: {} planned, {} of dynamic tensors and objects; "
        "results account for {}\n",
        bytes_text(known + entry.data_bytes), bytes_text(known), bytes_text(entry.data_bytes),
        bytes_text(entry.result_bytes));
  std::string text = fmt::format("memory {}{} for a run: {} of values, {} of results",
                                 is_all ? "" : "at least ", bytes_text(known),
                                 bytes_text(binding.arena_bytes), bytes_text(binding.result_bytes));
  if (binding.scratch_bytes > 0)
    text += fmt::format(", {} of kernels", bytes_text(binding.scratch_bytes));
  if (!is_all) text += "; dynamic tensors and objects need more";
  return text + "\n";
}

std::string named_sizes(const ValueInfo& info, const tensor::Shape& shape) {
  return one_line(info.name) + (info.kind == ValueKind::tensor ? " " + shape.to_string() : "");
}

/// "ran 3 times with x [5,2]: y [5,2], in 5 steps"; empty before the first run.
std::string runs_text(std::span<const ValueInfo> inputs, std::span<const ValueInfo> outputs,
                      BoundEntry& entry) {
  const std::scoped_lock lock(entry.mutex);
  if (entry.runs == 0) return {};
  const auto listed = [](std::span<const ValueInfo> infos, std::span<const tensor::Shape> shapes) {
    std::string text;
    for (std::size_t i = 0; i < infos.size(); ++i)
      text += (i == 0 ? "" : ", ") + named_sizes(infos[i], shapes[i]);
    return text;
  };
  const std::string feeds = listed(inputs, entry.shapes);
  return fmt::format("ran {}{}: {}{}\n",
                     entry.runs == 1 ? "once" : fmt::format("{} times", entry.runs),
                     feeds.empty() ? "" : " with " + feeds, listed(outputs, entry.result_sizes),
                     entry.steps > 0 ? ", in " + plan::counted(entry.steps, "step") : "");
}

/// `binding`, `bound`: the loop for particular input sizes, if known.
std::string ports_text(const ir::Module& module, ir::NodeId id, const plan::Binding* binding,
                       const plan::BoundLoop* bound) {
  const ir::Node& node = module.node(id);
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = module.region(node.regions[0]);
  std::string text;
  if (ports.captured > 0) text += row("captured", plan::counted(ports.captured, "value"));
  const std::vector<std::string> locations =
      bound != nullptr ? plan::describe_states(*binding, *bound) : std::vector<std::string>();
  for (std::uint32_t i = 0; i < ports.carried; ++i) {
    const ir::ValueId state = body.args[ports.captured + i];
    std::string location = is_object(module, state) ? ", passed by reference" : "";
    if (bound != nullptr) location = ", " + locations[i];
    const std::string& name = module.value(state).name;
    text += row("carried", (name.empty() ? "" : "'" + one_line(name) + "' ") +
                               type_text(module, state) + location);
  }
  for (std::size_t i = 0; i < ports.scanned.size(); ++i) {
    const ir::ScannedPort& port = ports.scanned[i];
    const ir::ValueId outer = node.inputs[ports.first_scanned_input() + i];
    const bool in_blocks =
        bound != nullptr && bound->blocks.steps < bound->blocks.rows && bound->blocks.ports[i];
    text +=
        row("scanned", fmt::format("{} along axis {}{}: {}", ir::describe_scanned(module, id, i),
                                   port.axis, port.stride < 0 ? ", backwards" : "",
                                   is_object(module, outer) ? "a copy of each slice of strings"
                                   : in_blocks              ? "rows of a block of steps, no copy"
                                                            : "a view, no copy"));
  }
  for (std::size_t i = 0; i < ports.stacked.size(); ++i)
    text += row("stacked",
                fmt::format("{} along axis {}{}", ir::describe_stacked(module, id, i),
                            ports.stacked[i].axis, ports.stacked[i].reverse ? ", backwards" : ""));
  return text;
}

/// The fixed sizes of all feeds; nullopt if the model leaves some open.
std::optional<std::vector<tensor::Shape>> fixed_shapes(const ir::Module& module) {
  std::vector<tensor::Shape> shapes;
  for (const ir::ValueId id : module.region(module.top()).args) {
    const tensor::Type& type = module.value(id).type;
    if (!type.is_tensor()) {  // bound without sizes
      shapes.emplace_back();
      continue;
    }
    if (!type.ranked || !std::ranges::all_of(type.dims, &tensor::Dim::is_constant))
      return std::nullopt;
    shapes.push_back(type.shape());
  }
  return shapes;
}

std::pair<const plan::Binding*, const plan::BoundLoop*> bound_loop(
    const std::vector<std::shared_ptr<BoundEntry>>& bound, ir::NodeId id) {
  for (const auto& entry : bound)
    for (const plan::BoundLoop& loop : entry->binding->loops)
      if (loop.node == id) return {entry->binding.get(), &loop};
  return {nullptr, nullptr};
}

/// How sequences run, as a line.
std::string way_of(const ManyProgram& program) {
  if (program.reason.empty()) return "sequences run in lanes\n";
  return fmt::format("sequences run {}: {}{}\n",
                     program.pads ? "in padded batches, not in lanes" : "one by one",
                     program.node.empty() ? "" : program.node + ": ", program.reason);
}

}  // namespace

/// The bindings that were used; before the first run, the only possible one. None if the
/// interpreter runs: bindings made for Session::plan say nothing about it.
std::vector<std::shared_ptr<BoundEntry>> Session::Impl::known_bindings() const {
  if (options.execution == Execution::interpreted) return {};
  {
    const std::scoped_lock lock(mutex);
    if (!bound.empty()) return bound;
  }
  const auto shapes = fixed_shapes(plan->module);
  if (!shapes) return {};
  // If binding fails, the run that follows reports the error.
  const auto entry = guard([&] { return bind(*shapes); });
  if (!entry) return {};
  return {*entry};
}

std::string Session::explain() const { return impl_->explain(); }

std::string Session::Impl::sequences_text() const {
  std::shared_ptr<const ManyProgram> of_sizes;
  {
    const std::scoped_lock lock(sized_mutex);
    of_sizes = many_of_sized;
  }
  const std::scoped_lock lock(many_mutex);
  if (!many) return {};
  const bool knows_more = of_sizes && (of_sizes->has_lanes() || !many->has_steps);
  const bool is_last_choice = !many->has_lanes() || many->carries_nothing();
  return way_of(knows_more && is_last_choice ? *of_sizes : *many);
}

std::string Session::Impl::explain() const {
  const ir::Module& module = plan->module;
  const std::vector<std::shared_ptr<BoundEntry>> bound = known_bindings();
  std::string text;
  for (const ir::RegionId region : ir::regions_outer_first(module, module.top()))
    for (const ir::NodeId id : module.region(region).nodes) {
      const ir::Node& node = module.node(id);
      if (node.op != &ir::loop_op) continue;
      text += "loop " + module.describe(id) + "\n";
      const auto [binding, found] = bound_loop(bound, id);
      text += ports_text(module, id, binding, found);
      bool known = false;
      for (const auto& entry : bound)
        for (std::size_t i = 0; i < entry->binding->loops.size(); ++i) {
          const plan::BoundLoop& loop = entry->binding->loops[i];
          if (loop.node != id) continue;
          text += row("strategy", plan::describe_strategy(*entry->binding, loop) + " (" +
                                      steps_text(loop.trip_count, last_steps(*entry, i)) + ")");
          const std::string ahead = plan::describe_speculation(
              *entry->binding, loop,
              loop.trip_count >= 0 ? loop.trip_count : last_steps(*entry, i));
          if (!ahead.empty()) text += row("chunks", ahead);
          for (const std::string& call : plan::describe_plain_calls(*entry->binding, loop))
            text += row("plain", call);
          text += row("cost", cost_text(*entry, i));
          known = true;
        }
      if (!known)
        text += row("strategy", options.execution == Execution::interpreted
                                    ? "interpreted: node by node with the reference kernels"
                                    : "chosen when the sizes of the inputs are known");
    }
  if (text.empty()) text = "no loops are left after optimization\n";
  for (const auto& entry : bound)
    text += runs_text(std::span(inputs).first(own_inputs), std::span(outputs).first(own_outputs),
                      *entry) +
            memory_text(*entry);
  text += sequences_text();
  const std::scoped_lock lock(unshared_mutex);
  text = ir::SizeNames(module).in(text);
  if (unshared)
    text += "where input sizes that share a name in the model differ:\n" + unshared->explain();
  return text;
}

std::string Session::plan() const {
  return ir::SizeNames(impl_->plan->module).in(plan::print(*impl_->plan));
}

Expected<std::string> Session::Impl::text_of_binding(
    std::span<const Feed> feeds,
    const std::function<std::string(const plan::Binding&)>& print) const {
  return guard([&]() -> Expected<std::string> {
    SCANLOOM_TRY(const Arranged arranged, arrange(feeds));
    SCANLOOM_TRY(const std::shared_ptr<Impl> unshared, unshared_for(arranged.shapes));
    const Impl& runner = unshared ? *unshared : *this;
    SCANLOOM_TRY(const auto entry, runner.bind(arranged.shapes));
    return ir::SizeNames(entry->binding->plan->module).in(print(*entry->binding));
  });
}

Expected<std::string> Session::plan(std::span<const Feed> feeds) const {
  return impl_->text_of_binding(feeds,
                                [](const plan::Binding& binding) { return plan::print(binding); });
}

Expected<std::string> Session::nests(std::span<const Feed> feeds) const {
  return impl_->text_of_binding(feeds, &plan::print_nests);
}

Expected<std::string> Session::llvm(std::span<const Feed> feeds, bool optimized) const {
  return impl_->text_of_binding(feeds, [optimized](const plan::Binding& binding) {
    return plan::print_code(binding,
                            optimized ? jit::CodeForm::llvm : jit::CodeForm::llvm_unoptimised);
  });
}

Expected<std::string> Session::assembly(std::span<const Feed> feeds) const {
  return impl_->text_of_binding(feeds, [](const plan::Binding& binding) {
    return plan::print_code(binding, jit::CodeForm::assembly);
  });
}

}  // namespace scanloom
