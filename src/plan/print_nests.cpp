// Prints the loop nests of bodies in readable form.
#include <algorithm>

#include "loopnest/print.h"
#include "plan/binding.h"
#include "plan/codegen/body_source.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

/// Returns the body before its passes and after each pass that changed it, followed by the names of
/// the passes that did not.
std::string text_of_passes(const Body& body, const NestTrace& trace) {
  std::string text, idle;
  std::vector<const NestTrace::Step*> changed;
  for (const NestTrace::Step& step : trace.steps)
    if (step.before != step.after)
      changed.push_back(&step);
    else
      idle += (idle.empty() ? "" : ", ") + std::string(step.pass);
  // The last text is what the compiler receives: for regions it also lists the slots that move,
  // which are known only after the passes.
  const std::string compiled = loopnest::print(body.source);
  text = "// before passes\n" + (changed.empty() ? compiled : changed.front()->before);
  for (const NestTrace::Step* step : changed)
    text +=
        fmt::format("// after {}\n{}", step->pass, step == changed.back() ? compiled : step->after);
  if (!idle.empty()) text += fmt::format("// nothing to do for {}\n", idle);
  return text;
}

std::string nests_of_regions(const Binding& binding, const BoundLoop& loop) {
  std::string text;
  for (const std::uint32_t index : loop.per_step.outlined_regions) {
    const OutlinedRegion& outlined = binding.outlined_regions[index];
    NestTrace trace;
    const Expected<Body> body = describe_outlined_region(*binding.plan, binding, outlined, &trace);
    if (body)
      text += fmt::format("// outlined region: instructions {} to {}\n{}", outlined.first,
                          outlined.last - 1, text_of_passes(*body, trace));
  }
  return text;
}

std::string nests_of_loop(const Binding& binding, const BoundLoop& loop) {
  const std::string header = "// " + describe(*binding.plan, loop.node) + ": ";
  if (!loop.is_compiled_whole())
    if (const BoundLoop* const around = loop_whose_body_holds(binding, loop))
      return header + "part of the code of " + describe(*binding.plan, around->node) + "\n";
  const std::string text = header + describe_strategy(binding, loop) + "\n";
  if (loop.is_compiled_whole()) return text;
  NestTrace trace;
  const Expected<Body> body = describe_body(*binding.plan, binding, loop, &trace);
  return text + (body ? text_of_passes(*body, trace) : nests_of_regions(binding, loop));
}

}  // namespace

std::string print_nests(const Binding& binding) {
  if (binding.plan->options.compiler == nullptr)
    return fmt::format("// no loop nests: {}\n", binding.plan->options.why_no_compiler);
  std::string text;
  for (const BoundLoop& loop : binding.loops) text += nests_of_loop(binding, loop);
  return text.empty() ? "// no loop nests: no loop is left after passes\n" : text;
}

}  // namespace scanloom::plan
