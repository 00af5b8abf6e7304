// Machine code for the bodies of loops that are more than one element program. They are bound as
// all stepped loops are, and start so; the code takes over at the beginning of a step.
#include <algorithm>

#include "plan/binder.h"
#include "plan/body_source.h"
#include "plan/cost.h"

namespace scanloom::plan {

/// Values of a body that may become machine code get memory of their own for as long as the loop
/// runs: joined nests read and write them in another order than the instructions do.
void Binder::keep_apart(std::uint32_t first) {
  if (plan_->options.compiler == nullptr) return;
  if (out_->code.size() - first > kMaxStatementsOfBody) return;
  std::vector<Spot> spots;
  std::int64_t bytes = 0;
  for (std::size_t at = first; at < out_->code.size(); ++at) {
    if (out_->code[at].op != Op::call) return;
    const BoundCall& call = out_->calls[out_->code[at].index];
    for (std::size_t i = 0; i < std::size_t{call.inputs} + call.outputs; ++i) {
      const Spot& spot = out_->operands[call.first_operand + i];
      if (spot.buffer == kNone) continue;
      spots.push_back(spot);
      bytes += layout(spot).dims.elements() * static_cast<std::int64_t>(dtype_bytes(spot.dtype));
    }
  }
  if (bytes > kMaxBytesOfBody) return;
  for (const Spot& spot : spots) arena_.use(spot.buffer);
}

void Binder::compile_bodies() {
  if (plan_->options.compiler == nullptr) return;
  for (BoundLoop& loop : out_->loops) {
    if (loop.compiled.run != nullptr) continue;
    loop.steps_to_compile =
        plan_->options.always_compile ? 1 : steps_worth_compiling(loop.exit - loop.body);
    if (loop.trip_count <= loop.steps_to_compile) continue;
    Expected<jit::CompiledBody> body = compile_body(*plan_, *out_, loop);
    if (!body) {
      loop.strategy += "; " + body.error().text();
      continue;
    }
    loop.body_code = *std::move(body);
    loop.strategy = "compiled step by step: " + loop.body_code.target;
  }
}

Expected<jit::CompiledBody> compile_body(const Plan& plan, const Binding& binding,
                                         const BoundLoop& loop) {
  SCANLOOM_TRY(const jit::BodySource source, describe_body(plan, binding, loop));
  return plan.bodies.get(source, [&] { return plan.options.compiler->compile_body(source); });
}

}  // namespace scanloom::plan
