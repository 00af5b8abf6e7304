// Machine code for bodies and for parts of them: what binding makes at once, because steps that are
// known or were stepped before pay for it, and what a run asks for later.
#include <limits>
#include <utility>

#include "plan/bind/binder.h"
#include "plan/codegen/body_source.h"
#include "plan/cost.h"

namespace scanloom::plan {
namespace {

/// Whether its steps, with those that were stepped before, show that code of its body pays.
bool pays_now(const BoundLoop& loop) {
  return loop.trip_count > loop.steps_to_compile - loop.stepped->load();
}

/// Whether its steps run in code of a part of a loop around it.
bool is_in_section(const Binding& binding, const BoundLoop& loop) {
  return std::ranges::any_of(binding.sections, [&](const BoundSection& section) {
    return section.code.code.run != nullptr && section.first < loop.body &&
           loop.exit <= section.last;
  });
}

}  // namespace

void Binder::compile_bodies() {
  if (plan_->options.compiler == nullptr) return;
  std::uint32_t end = 0;  // of the last one that has become code, with all loops inside
  for (BoundLoop& loop : out_->loops) {
    if (loop.compiled.run != nullptr) continue;
    const double step = step_nanoseconds(loop);
    if (step > kMaxNanosecondsBetweenLooks && !loop.why_no_body)
      loop.why_no_body = loop.steps_between_looks > 0
                             ? "holds loops that take too long between two looks at limits"
                             : "holds parts that take too long between two looks at limits";
    loop.steps_to_compile =
        plan_->options.always_compile ? 1 : steps_worth_compiling(loop.exit - loop.body, step);
    if (loop.exit <= end || is_in_section(*out_, loop)) {
      // Its steps run in the code of the loop around it, but for those of that loop's first step.
      if (has_known_trips(loop) && loop.trip_count <= kMaxInnerSteps)
        loop.steps_to_compile = std::numeric_limits<std::int64_t>::max();
      continue;
    }
    if (stopped_) return;
    if (!loop.sections.empty()) {
      compile_sections(loop);
      continue;
    }
    if (!pays_now(loop) || loop.decides_late) continue;
    Expected<BodyCode> body = compile_body(*plan_, *out_, loop, may_go_on_);
    if (!body && is_of_limits(body.error())) {
      stopped_ = std::move(body).error().at(module_.describe(loop.node));
      return;
    }
    if (!body) continue;  // describe_strategy says why
    end = loop.exit;
    loop.body_code = *std::move(body);
    loop.notes.strategy = "compiled step by step: " + loop.body_code.code.target;
  }
}

void Binder::compile_sections(BoundLoop& loop) {
  double nanoseconds = 0;
  std::size_t instructions = 0;
  for (const std::uint32_t index : loop.sections) {
    const BoundSection& section = out_->sections[index];
    nanoseconds += nanoseconds_of(section.first, section.last) *
                   (1 + static_cast<double>(section.inner_steps));
    instructions += section.last - section.first;
  }
  if (!plan_->options.always_compile)
    loop.steps_to_compile = steps_worth_compiling(instructions, nanoseconds);
  if (nanoseconds > kMaxNanosecondsBetweenLooks) loop.sections.clear();
  if (!pays_now(loop)) return;
  for (const std::uint32_t index : loop.sections) {
    BoundSection& section = out_->sections[index];
    Expected<BodyCode> code = compile_section(*plan_, *out_, section, may_go_on_);
    if (!code && is_of_limits(code.error())) {
      stopped_ = std::move(code).error().at(module_.describe(loop.node));
      return;
    }
    if (!code) continue;
    section.code = *std::move(code);
    loop.notes.strategy = "compiled in parts: " + section.code.code.target;
  }
}

namespace {

Expected<BodyCode> compile_source(const Plan& plan, Body body, const MayGoOn& may_go_on) {
  const jit::Plugin* const compiler = plan.options.compiler;
  if (may_go_on) jit::prepare(*compiler);
  SCANLOOM_TRY(jit::CompiledBody code,
               plan.bodies.get(body.source, may_go_on, [compiler, source = body.source] {
                 return compiler->compile_body(source);
               }));
  return BodyCode{std::move(code), std::move(body.numbers)};
}

}  // namespace

Expected<BodyCode> compile_body(const Plan& plan, const Binding& binding, const BoundLoop& loop,
                                const MayGoOn& may_go_on) {
  SCANLOOM_TRY(Body body, describe_body(plan, binding, loop));
  return compile_source(plan, std::move(body), may_go_on);
}

Expected<BodyCode> compile_section(const Plan& plan, const Binding& binding,
                                   const BoundSection& section, const MayGoOn& may_go_on) {
  SCANLOOM_TRY(Body body, describe_section(plan, binding, section));
  return compile_source(plan, std::move(body), may_go_on);
}

Expected<TimedBody> compile_timed_body(const Plan& plan, const Binding& binding,
                                       const BoundLoop& loop, const MayGoOn& may_go_on) {
  SCANLOOM_TRY(Body body, describe_body(plan, binding, loop));
  body.source.timed = true;
  std::vector<std::vector<ir::NodeId>> nodes = std::move(body.nodes);
  SCANLOOM_TRY(BodyCode code, compile_source(plan, std::move(body), may_go_on));
  return TimedBody{std::move(code), std::move(nodes)};
}

}  // namespace scanloom::plan
