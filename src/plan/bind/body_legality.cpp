#include "plan/bind/body_legality.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plan/codegen/body_source.h"
#include "plan/cost.h"

namespace scanloom::plan {
namespace {

bool is_plain(const Spot& spot) { return !spot.is_dynamic() && !spot.is_object(); }

/// Whether all scanned values of the loop have the same number of slices.
bool slices_agree(const Binding& binding, const BoundLoop& loop) {
  std::optional<std::int64_t> count;
  return std::ranges::all_of(loop.scanned, [&](const BoundScanned& port) {
    const std::int64_t own = slices_of(binding, port);
    return std::exchange(count, own).value_or(own) == own;
  });
}

/// Returns why a loop cannot be part of the code of the loop around it.
std::optional<Refusal> why_not_inside(const Binding& binding, const BoundLoop& loop) {
  const auto holds = [&](const char* what) {
    return Refusal(fmt::format("holds {}, {}", describe(*binding.plan, loop.node), what),
                   loop.node);
  };
  if (loop.is_compiled_whole()) return holds("a loop that is compiled on its own");
  for (const Spot* const control : {&loop.trip_operand, &loop.condition, &loop.keep_going})
    if (control->is_dynamic() || control->is_object())
      return holds("a loop whose trip count or condition has a size that depends on data");
  const bool states_move = std::ranges::any_of(loop.carried, [](const BoundCarried& port) {
    return port.buffer_a == kNone && !port.in_place;
  });
  const bool slices_move = std::ranges::any_of(loop.scanned, [](const BoundScanned& port) {
    return port.outer.is_dynamic() || port.argument.is_object();
  });
  const bool rows_move = std::ranges::any_of(loop.stacked, [](const BoundStacked& port) {
    return port.result.is_object() || (port.result.is_dynamic() && !port.open);
  });
  if (states_move || slices_move || rows_move)
    return holds("a loop over values whose sizes depend on data");
  if (std::ranges::any_of(loop.stacked, &BoundStacked::open))
    return holds("a loop that stacks a number of rows known only at run time");
  if (loop.trip_count < 0 && !slices_agree(binding, loop))
    return holds("a loop over sequences of different lengths");
  return std::nullopt;
}

/// Returns which of a loop's own values keeps its body from becoming code.
std::optional<Refusal> why_not_over_values(const Plan& plan, const BoundLoop& loop) {
  const ir::Module& module = plan.module;
  const ir::Node& node = module.node(loop.node);
  const ir::Region& body = module.region(node.regions[0]);
  const auto depends = [&](const std::string& name) {
    return Refusal(fmt::format("is over {}, whose size depends on data", name), loop.node);
  };
  for (std::size_t i = 0; i < loop.carried.size(); ++i)
    if (loop.carried[i].buffer_a == kNone && !loop.carried[i].in_place)
      return depends(module.describe(body.args[node.loop->captured + i]));
  for (std::size_t i = 0; i < loop.scanned.size(); ++i)
    if (!is_plain(loop.scanned[i].argument)) return depends(describe_scanned(module, loop.node, i));
  for (std::size_t i = 0; i < loop.stacked.size(); ++i) {
    const BoundStacked& port = loop.stacked[i];
    if (port.result.is_object() || (port.result.is_dynamic() && !port.open))
      return depends(module.describe(node.outputs[loop.carried.size() + i]));
  }
  return std::nullopt;
}

/// Checks the instructions of a loop's body for any that cannot be machine code.
class BodyCheck {
 public:
  explicit BodyCheck(const Binding& binding) : binding_(binding) {}

  std::vector<Spot> spots;           ///< read or written
  std::vector<Spot> spots_in_parts;  ///< of these a step touches only a small part
  std::vector<SlotId> state_buffers;
  std::int64_t inner_steps = 0, steps_between_polls = 0, max_inner_trips = 0;
  bool decides_late = false;
  bool polls = false;  ///< holds loops that poll limits themselves
  std::size_t calls = 0;
  std::int64_t charged = 0;  ///< ns of all Op::charge, in both regions of branches

  [[nodiscard]] bool has_loops() const { return steps_between_polls > 0; }

  /// Returns why instructions [first, last) cannot become code; nullopt if they can.
  std::optional<Refusal> look_through(std::uint32_t first, std::uint32_t last) {
    int blocks = 0;
    for (std::uint32_t at = first; at < last; ++at) {
      const Instruction& instruction = binding_.code[at];
      const bool opens = instruction.op == Op::branch || instruction.op == Op::loop_begin;
      if (opens && ++blocks > kMaxBlocksOfBody)
        return Refusal(fmt::format("holds more than {} branches and loops", kMaxBlocksOfBody));
      if (auto why = look_at(at, instruction)) return why;
    }
    return std::nullopt;
  }

 private:
  std::optional<Refusal> look_at(std::uint32_t at, const Instruction& instruction) {
    while (!repeats_.empty() && at >= repeats_.back().end) repeats_.pop_back();
    switch (instruction.op) {
      case Op::call:
        ++calls;
        add_call(binding_.calls[instruction.index]);
        return std::nullopt;
      case Op::branch:
        end_of_branches_ = std::max(end_of_branches_, end_of_block(binding_, at));
        return std::nullopt;
      case Op::loop_begin:
        return enter(at, binding_.loops[instruction.index]);
      case Op::charge:
        charged += instruction.index;
        return std::nullopt;
      case Op::loop_end:
      case Op::jump:
        return std::nullopt;
      case Op::alias:
        return add_alias(binding_.aliases[instruction.index]);
      case Op::compiled_loop:
        return why_not_inside(binding_, binding_.loops[instruction.index]);
      case Op::object_call:
        return holds(binding_.object_calls[instruction.index].node,
                     "which reads or makes a sequence, an optional or a string");
      case Op::trap:
        return "holds a part that always fails";
      case Op::dynamic_call:
        return holds(binding_.dynamic_calls[instruction.index].call.node,
                     "whose sizes depend on data");
      case Op::check_sizes:
      case Op::poll:
      case Op::outlined_region:
      case Op::end:
        break;
    }
    return "holds a part whose sizes depend on data";
  }

  [[nodiscard]] Refusal holds(ir::NodeId node, std::string_view what) const {
    return {fmt::format("holds {}, {}", describe(*binding_.plan, node), what), node};
  }

  void add_call(const BoundCall& call) {
    for (std::size_t i = 0; i < std::size_t{call.inputs} + call.outputs; ++i)
      (call.is_own(i) ? spots : spots_in_parts)
          .push_back(binding_.operands[call.first_operand + i]);
  }

  std::optional<Refusal> add_alias(const Alias& alias) {
    if (!is_plain(alias.from) || !is_plain(alias.to))
      return "holds a part whose sizes depend on data";
    spots.push_back(alias.from);
    return std::nullopt;
  }

  std::optional<Refusal> enter(std::uint32_t at, const BoundLoop& loop) {
    if (auto why = why_not_inside(binding_, loop)) return why;
    const bool counted = has_known_trips(loop) && at >= end_of_branches_;
    // Other loops can poll after each step.
    std::int64_t times = counted ? std::min(loop.trip_count, kMaxInnerSteps + 1) : 1;
    for (const Repeat& repeat : repeats_)
      times = std::min(times * repeat.trips, kMaxInnerSteps + 1);
    steps_between_polls += times;
    if (counted && std::ranges::all_of(repeats_, &Repeat::counted)) inner_steps += times;
    decides_late |= loop.may_become_whole();
    polls |= !counted;
    if (counted) max_inner_trips = std::max(max_inner_trips, loop.trip_count);
    if (steps_between_polls > kMaxInnerSteps)
      return Refusal(fmt::format("holds loops of more than {} steps", kMaxInnerSteps), loop.node);
    repeats_.push_back({loop.exit, counted ? loop.trip_count : 1, counted});
    for (const Spot* const control : {&loop.trip_operand, &loop.condition, &loop.keep_going})
      if (control->present()) spots.push_back(*control);
    for (const BoundCarried& port : loop.carried) {
      spots.push_back(port.initial);
      if (!port.in_place) state_buffers.insert(state_buffers.end(), {port.buffer_a, port.buffer_b});
    }
    for (const BoundScanned& port : loop.scanned) spots.push_back(port.outer);
    for (const BoundStacked& port : loop.stacked) spots.push_back(port.result);
    return std::nullopt;
  }

  /// A loop around the current instruction.
  struct Repeat {
    std::uint32_t end;
    std::int64_t trips;  ///< 1 where the run decides
    bool counted;
  };

  const Binding& binding_;
  std::vector<Repeat> repeats_;
  std::uint32_t end_of_branches_ = 0;
};

/// Whether the spot is in the arena and not a state updated in place, of which steps touch only a
/// few elements.
bool is_touched(const Spot& spot, const BoundLoop& loop) {
  return spot.buffer != kNone && std::ranges::none_of(loop.carried, [&](const BoundCarried& port) {
           return port.in_place && port.argument.buffer == spot.buffer;
         });
}

std::int64_t bytes_of_spot(const BindingBuilder& builder, const Spot& spot) {
  return builder.layout(spot).dims.elements() * bytes_of(spot.dtype);
}

/// Returns the bytes that are read and written, with repetitions.
std::int64_t bytes_touched(const BindingBuilder& builder, const std::vector<Spot>& spots,
                           const BoundLoop& loop) {
  std::int64_t bytes = 0;
  for (const Spot& spot : spots)
    if (is_touched(spot, loop)) bytes += bytes_of_spot(builder, spot);
  return bytes;
}

/// Returns the memory of all values. Each value counts once, however many nodes read it; each state
/// counts twice, for its two buffers.
std::int64_t bytes_of_values(const BindingBuilder& builder, const std::vector<Spot>& spots,
                             const BoundLoop& loop) {
  std::map<std::int32_t, std::int64_t> by_buffer;
  for (const Spot& spot : spots) {
    if (!is_touched(spot, loop)) continue;
    std::int64_t& bytes = by_buffer[spot.buffer];
    bytes = std::max(bytes, bytes_of_spot(builder, spot));
  }
  std::int64_t sum = 0;
  for (const auto& [buffer, bytes] : by_buffer) sum += bytes;
  const auto is_of = [&](const BoundCarried& port) {
    return std::ranges::any_of(spots, [&](const Spot& spot) {
      return spot.slot == port.argument.slot || spot.slot == port.next.slot;
    });
  };
  for (const BoundCarried& port : loop.carried)
    if (port.buffer_a != kNone && is_of(port)) sum += 2 * bytes_of_spot(builder, port.argument);
  return sum;
}

/// The bytes that code would read and write, and their limit.
struct BytesOfCode {
  std::int64_t all, max;
};

BytesOfCode bytes_of_code(const BindingBuilder& builder, const BodyCheck& check,
                          const BoundLoop& loop) {
  if (check.has_loops()) return {bytes_touched(builder, check.spots, loop), kMaxBytesOfNest};
  return {bytes_of_values(builder, check.spots, loop), kMaxBytesOfBody};
}

/// Keeps all buffers alive up to the last instruction before `last`, so that none share memory.
void keep_buffers(BindingBuilder& builder, const BodyCheck& check, std::uint32_t last) {
  for (const auto* spots : {&check.spots, &check.spots_in_parts})
    for (const Spot& spot : *spots)
      for (const BufferId buffer : builder.buffers_of(spot)) builder.keep_until(buffer, last - 1);
  for (const SlotId slot : check.state_buffers)
    builder.keep_until(builder.buffer_of(slot), last - 1);
}

/// Adds instructions [first, last) of the body as a region, if it can become code and that pays.
void add_outlined_region(BindingBuilder& builder, BoundLoop& loop, std::uint32_t index,
                         std::uint32_t first, std::uint32_t last) {
  BodyCheck check(builder.binding());
  if (check.look_through(first, last) || check.calls < kMinCallsOfSection) return;
  const BytesOfCode bytes = bytes_of_code(builder, check, loop);
  std::vector<std::uint32_t>& own = loop.per_step.outlined_regions;
  if (own.size() == kMaxOutlinedRegions || bytes.all > bytes.max) return;
  keep_buffers(builder, check, last);
  std::vector<OutlinedRegion>& outlined_regions = builder.binding().outlined_regions;
  own.push_back(static_cast<std::uint32_t>(outlined_regions.size()));
  outlined_regions.push_back({.loop = index,
                              .first = first,
                              .last = last,
                              .inner_steps = check.inner_steps,
                              .max_inner_trips = check.max_inner_trips,
                              .charged = check.charged});
}

/// Adds the longest runs of instructions that can become code. A branch that cannot ends a run, but
/// its regions are searched too; an inner loop finds its own regions.
void find_outlined_regions(BindingBuilder& builder, BoundLoop& loop, std::uint32_t index) {
  const Binding& binding = builder.binding();
  std::vector<CodeRange> ranges{{loop.body, builder.next()}};
  while (!ranges.empty()) {
    const CodeRange range = ranges.back();
    ranges.pop_back();
    std::uint32_t begin = range.first;
    for (std::uint32_t at = range.first, next = at; at < range.last; at = next) {
      next = end_of_block(binding, at);
      if (BodyCheck check(binding); !check.look_through(at, next) && !check.polls) continue;
      add_outlined_region(builder, loop, index, begin, at);
      begin = next;
      if (binding.code[at].op != Op::branch) continue;
      const BranchRegions sides = regions_of(binding, at);
      ranges.push_back(sides.then);
      ranges.push_back(sides.otherwise);
    }
    add_outlined_region(builder, loop, index, begin, range.last);
  }
}

}  // namespace

void find_body_code(BindContext& ctx, InstructionScope& end, BoundLoop& loop, std::uint32_t index) {
  if (ctx.plan->options.compiler == nullptr) return;
  const std::uint32_t last = ctx.builder.next();
  PerStepCode& found = loop.per_step;
  if (const std::size_t count = last - loop.body; count > kMaxStatementsOfBody) {
    found.refusal =
        Refusal(fmt::format("has {} instructions, more than the limit of {} for compiling at once",
                            count, kMaxStatementsOfBody));
    return;
  }
  BodyCheck check(ctx.builder.binding());
  found.refusal = check.look_through(loop.body, last);
  if (!found.refusal) found.refusal = why_not_over_values(*ctx.plan, loop);
  if (found.refusal) return find_outlined_regions(ctx.builder, loop, index);
  if (const BytesOfCode bytes = bytes_of_code(ctx.builder, check, loop); bytes.all > bytes.max) {
    found.refusal = Refusal(
        fmt::format("has operands of {} bytes, more than the limit of {} for a compiled body",
                    bytes.all, bytes.max));
    return;
  }
  for (const auto* spots : {&check.spots, &check.spots_in_parts})
    for (const Spot& spot : *spots)
      for (const BufferId buffer : ctx.builder.buffers_of(spot)) end.use(buffer);
  for (const SlotId slot : check.state_buffers) end.use(ctx.builder.buffer_of(slot));
  found.inner_steps = check.inner_steps;
  found.steps_between_polls = check.steps_between_polls;
  found.decides_late = check.decides_late;
  found.max_inner_trips = check.max_inner_trips;
}

}  // namespace scanloom::plan
