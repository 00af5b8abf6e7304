#include "plan/bind/compile_bodies.h"

#include <algorithm>
#include <limits>

#include "plan/bind/step_time.h"
#include "plan/codegen/body_source.h"
#include "plan/cost.h"

namespace scanloom::plan {
namespace {

/// Whether its steps, with those that were stepped before, show that code of its body pays.
bool pays_now(const BoundLoop& loop) {
  return loop.trip_count > loop.per_step.steps_to_compile - loop.stepped->load();
}

/// Whether its steps run in code of a part of a loop around it.
bool is_in_section(const Binding& binding, const BoundLoop& loop) {
  return std::ranges::any_of(binding.sections, [&](const BoundSection& section) {
    return section.code.code.run != nullptr && section.first < loop.body &&
           loop.exit <= section.last;
  });
}

/// Has the regions of a body compiled where its steps are known to pay for that.
void compile_sections(BindContext& ctx, BoundLoop& loop) {
  Binding& binding = ctx.builder.binding();
  double nanoseconds = 0;
  std::size_t instructions = 0;
  for (const std::uint32_t index : loop.per_step.sections) {
    const BoundSection& section = binding.sections[index];
    nanoseconds += nanoseconds_of(binding, section.first, section.last) *
                   (1 + static_cast<double>(section.inner_steps));
    instructions += section.last - section.first;
  }
  if (!ctx.plan->options.always_compile)
    loop.per_step.steps_to_compile = steps_worth_compiling(instructions, nanoseconds);
  if (nanoseconds > kMaxNanosecondsBetweenLooks) loop.per_step.sections.clear();
  if (!pays_now(loop)) return;
  for (const std::uint32_t index : loop.per_step.sections) {
    BoundSection& section = binding.sections[index];
    Expected<BodyCode> code = compile_section(*ctx.plan, binding, section, ctx.may_go_on);
    if (!code && is_of_limits(code.error())) {
      ctx.stopped = std::move(code).error().at(ctx.module.describe(loop.node));
      return;
    }
    if (!code) continue;
    section.code = *std::move(code);
    loop.notes.strategy = "compiled in parts: " + section.code.code.target;
  }
}

}  // namespace

void compile_bodies(BindContext& ctx) {
  Binding& binding = ctx.builder.binding();
  if (ctx.plan->options.compiler == nullptr) return;
  std::uint32_t end = 0;  // of the last one that has become code, with all loops inside
  for (BoundLoop& loop : binding.loops) {
    if (loop.is_compiled_whole()) continue;
    if (loop.exit <= end || is_in_section(binding, loop)) {
      // Its steps run in the code of the loop around it, except for those of that loop's first
      // step.
      if (has_known_trips(loop) && loop.trip_count <= kMaxInnerSteps)
        loop.per_step.steps_to_compile = std::numeric_limits<std::int64_t>::max();
      continue;
    }
    if (ctx.stopped) return;
    if (!loop.per_step.sections.empty()) {
      compile_sections(ctx, loop);
      continue;
    }
    if (!pays_now(loop) || loop.per_step.decides_late) continue;
    Expected<BodyCode> body = compile_body(*ctx.plan, binding, loop, ctx.may_go_on);
    if (!body && is_of_limits(body.error())) {
      ctx.stopped = std::move(body).error().at(ctx.module.describe(loop.node));
      return;
    }
    if (!body) continue;  // describe_strategy says why
    end = loop.exit;
    loop.per_step.code = *std::move(body);
    loop.notes.strategy = "compiled step by step: " + loop.per_step.code.code.target;
  }
}

}  // namespace scanloom::plan
