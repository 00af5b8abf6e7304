#include "plan/bind/speculation.h"

#include <algorithm>
#include <utility>

#include "ops/loop_counters.h"
#include "plan/bind/parallel_steps.h"
#include "plan/bind/step_time.h"
#include "plan/cost.h"
#include "tensor/scalar_functions.h"

namespace scanloom::plan {
namespace {

/// Maximum bytes of the states, which are saved many times per chunk.
constexpr std::int64_t kMaxStateBytes = 16 << 10;
/// In longer steps, threads share the work of a kernel.
constexpr double kMaxStepNanoseconds = 20e3;
/// Machine code takes about this fraction of the time of stepped calls.
constexpr double kShareOfCode = 0.5;

std::optional<Refusal> refuse_ports(const BoundLoop& loop) {
  for (const BoundCarried& port : loop.carried) {
    if (!is_static_tensor(port.argument)) return "a state has a size that depends on data";
    if (port.in_place) return "a state is updated in place";
  }
  for (const BoundScanned& port : loop.scanned)
    if (port.argument.is_object() || port.argument.is_dynamic())
      return "a slice has a size that depends on data";
  for (const BoundStacked& port : loop.stacked)
    if (port.apart || !(port.open || is_static_tensor(port.result)))
      return "rows have sizes that depend on data";
  return std::nullopt;
}

bool has_pipelined_call(const Binding& binding, const BoundLoop& loop) {
  for (std::uint32_t at = loop.body; at < loop.exit; ++at)
    if (binding.code[at].op == Op::call &&
        binding.calls[binding.code[at].index].pipelined.node.valid())
      return true;
  return false;
}

std::optional<Refusal> refuse(const BindContext& ctx, const BoundLoop& loop) {
  const ir::RegionId body = ctx.module.node(loop.node).regions[0];
  if (ctx.module.node(loop.node).loop->has_keep_going) return "a condition may end the loop";
  if (!loop.whole && loop.per_step.refusal) return "the steps are not machine code";
  if (draws_or_keeps_state(ctx.module, body)) return "steps draw random numbers";
  if (auto refusal = refuse_ports(loop)) return refusal;
  const bool has_blocks = loop.blocks.steps > 0 && loop.blocks.steps < loop.blocks.rows;
  if (has_blocks && loop.is_compiled_whole()) return "slices are computed in blocks of steps";
  if (!loop.is_compiled_whole() && has_pipelined_call(ctx.builder.binding(), loop))
    return "steps compute slices of later steps";
  const std::vector<BoundLoop>& all = ctx.builder.binding().loops;
  if (!loop.whole && std::ranges::any_of(all, [&](const BoundLoop& inner) {
        return inner.body > loop.body && inner.exit < loop.exit && inner.trip_count < 0;
      }))
    return "a step has a loop whose number of steps depends on data";
  return std::nullopt;
}

/// A step waits for the one before it: an operation counts with its latency, and few lanes hide it.
double step_nanoseconds_of(const jit::LoopSource& source) {
  constexpr double kOperation = 0.5, kFunction = 5, kLanesAtOnce = 16;
  double one = 0;
  for (const tensor::ScalarInstr& instr : source.program.instrs)
    one += tensor::is_function(instr.op) ? kFunction : kOperation;
  return one * std::max(1.0, static_cast<double>(source.lanes) / kLanesAtOnce);
}

Speculation describe(const BindContext& ctx, const BoundLoop& loop) {
  Speculation made;
  for (std::uint32_t i = 0; i < loop.carried.size(); ++i) {
    const Spot& spot = loop.carried[i].argument;
    const std::int64_t bytes = ctx.builder.layout(spot).dims.elements() * bytes_of(spot.dtype);
    made.states.push_back({bytes, ops::increment_of(ctx.module, loop.node, i, &ctx.inference),
                           !is_floating_point(spot.dtype)});
    made.state_bytes += bytes;
  }
  made.nanoseconds = loop.whole ? step_nanoseconds_of(*loop.whole->source)
                                : kShareOfCode * step_nanoseconds(ctx.builder.binding(), loop);
  return made;
}

}  // namespace

void find_speculation(const BindContext& ctx, BoundLoop& loop,
                      std::shared_ptr<SpeculationRecord> record) {
  const PlanOptions& options = ctx.plan->options;
  const bool is_forced = options.speculation == SpeculationMode::always;
  if (options.speculation == SpeculationMode::never || options.compiler == nullptr) return;
  if ((options.threads < 2 && !is_forced) || loop.parallel) return;
  loop.notes.why_not_speculated = refuse(ctx, loop);
  if (loop.notes.why_not_speculated) return;
  Speculation made = describe(ctx, loop);
  if (made.state_bytes > kMaxStateBytes) {
    loop.notes.why_not_speculated = Refusal(fmt::format(
        "the states have {} bytes, more than the limit of {}", made.state_bytes, kMaxStateBytes));
    return;
  }
  if (!loop.whole && made.nanoseconds > kMaxStepNanoseconds) {
    loop.notes.why_not_speculated = "threads share the work of a step instead";
    return;
  }
  loop.speculation = std::move(made);
  loop.speculated = std::move(record);
}

}  // namespace scanloom::plan
