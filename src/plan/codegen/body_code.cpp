// Compiles bodies and outlined regions, through the plan's code cache.
#include <utility>

#include "plan/codegen/body_source.h"

namespace scanloom::plan {
namespace {

Expected<BodyCode> compile_source(const Plan& plan, Body body, const MayGoOn& may_go_on) {
  const jit::Plugin* const compiler = plan.options.compiler;
  if (may_go_on) jit::prepare(*compiler);
  SCANLOOM_TRY(jit::CompiledBody code,
               plan.bodies.get(body.source, may_go_on, [compiler, source = body.source] {
                 return compiler->compile_body(source);
               }));
  return BodyCode{std::move(code), std::move(body.parameters)};
}

}  // namespace

Expected<BodyCode> compile_body(const Plan& plan, const Binding& binding, const BoundLoop& loop,
                                const MayGoOn& may_go_on) {
  SCANLOOM_TRY(Body body, describe_body(plan, binding, loop));
  return compile_source(plan, std::move(body), may_go_on);
}

Expected<BodyCode> compile_outlined_region(const Plan& plan, const Binding& binding,
                                           const OutlinedRegion& outlined,
                                           const MayGoOn& may_go_on) {
  SCANLOOM_TRY(Body body, describe_outlined_region(plan, binding, outlined));
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
