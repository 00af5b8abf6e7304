#include "plan/bind/compile_bodies.h"

#include <algorithm>
#include <limits>

#include "plan/bind/step_time.h"
#include "plan/codegen/body_source.h"
#include "plan/cost.h"

namespace scanloom::plan {
namespace {

/// Whether the loop's steps, with those stepped by earlier runs, pay for compiling its body.
bool pays_now(const BoundLoop& loop) {
  return loop.trip_count > loop.per_step.steps_to_compile - loop.stepped->load();
}

/// Whether the loop's steps run in the code of an outlined region of a loop around it.
bool is_in_outlined_region(const Binding& binding, const BoundLoop& loop) {
  return std::ranges::any_of(binding.outlined_regions, [&](const OutlinedRegion& outlined) {
    return outlined.code.code.run != nullptr && outlined.first < loop.body &&
           loop.exit <= outlined.last;
  });
}

/// Compiles the outlined regions of a body if its steps are known to pay for that.
void compile_outlined_regions(BindContext& ctx, BoundLoop& loop) {
  Binding& binding = ctx.builder.binding();
  double nanoseconds = 0;
  std::size_t instructions = 0;
  for (const std::uint32_t index : loop.per_step.outlined_regions) {
    const OutlinedRegion& outlined = binding.outlined_regions[index];
    nanoseconds += nanoseconds_of(binding, outlined.first, outlined.last) *
                   (1 + static_cast<double>(outlined.inner_steps));
    instructions += outlined.last - outlined.first;
  }
  if (!ctx.plan->options.always_compile)
    loop.per_step.steps_to_compile = steps_worth_compiling(instructions, nanoseconds);
  if (nanoseconds > kMaxNanosecondsBetweenPolls) loop.per_step.outlined_regions.clear();
  if (!pays_now(loop)) return;
  for (const std::uint32_t index : loop.per_step.outlined_regions) {
    OutlinedRegion& outlined = binding.outlined_regions[index];
    Expected<BodyCode> code = compile_outlined_region(*ctx.plan, binding, outlined, ctx.may_go_on);
    if (!code && is_of_limits(code.error())) {
      ctx.stopped = std::move(code).error().at(ctx.module.describe(loop.node));
      return;
    }
    if (!code) continue;
    outlined.code = *std::move(code);
    loop.notes.strategy = "compiled in outlined regions: " + outlined.code.code.target;
  }
}

}  // namespace

void compile_bodies(BindContext& ctx) {
  Binding& binding = ctx.builder.binding();
  if (ctx.plan->options.compiler == nullptr) return;
  std::uint32_t end = 0;  // of the last one that has become code, with all loops inside
  for (BoundLoop& loop : binding.loops) {
    if (loop.is_compiled_whole()) continue;
    if (loop.exit <= end || is_in_outlined_region(binding, loop)) {
      // Its steps run in the code of the loop around it, except for those of that loop's first
      // step.
      if (has_known_trips(loop) && loop.trip_count <= kMaxInnerSteps)
        loop.per_step.steps_to_compile = std::numeric_limits<std::int64_t>::max();
      continue;
    }
    if (ctx.stopped) return;
    if (!loop.per_step.outlined_regions.empty()) {
      compile_outlined_regions(ctx, loop);
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
    loop.notes.strategy = "compiled per step: " + loop.per_step.code.code.target;
  }
}

}  // namespace scanloom::plan
