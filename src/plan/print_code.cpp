// Prints the code of compiled loops: LLVM IR or assembly.
#include <algorithm>

#include "plan/binding.h"
#include "plan/codegen/body_source.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

/// Prints the code of a binding's loops. Comments are those of the form, so that the text of one
/// loop is input for the tools of LLVM.
class CodeText {
 public:
  CodeText(const Binding& binding, jit::CodeForm form)
      : binding_(binding), plan_(*binding.plan), form_(form) {}

  [[nodiscard]] std::string all() const {
    if (plan_.options.compiler == nullptr) return comment("no code: ", why_no_compiler());
    std::string text;
    for (const BoundLoop& loop : binding_.loops) text += of_loop(loop);
    return text.empty() ? comment("no code: ", "no loop is left after passes") : text;
  }

 private:
  [[nodiscard]] std::string why_no_compiler() const { return plan_.options.why_no_compiler; }

  /// Returns one line: names of nodes come from files and may hold line ends.
  [[nodiscard]] std::string comment(std::string_view what, std::string text) const {
    std::ranges::replace(text, '\n', ' ');
    return fmt::format("{} {}{}\n", form_ == jit::CodeForm::assembly ? '#' : ';', what, text);
  }

  [[nodiscard]] std::string of_code(const Expected<std::string>& code) const {
    return code ? *code : comment("no code: ", code.error().text());
  }

  [[nodiscard]] std::string of_body(const Body& body) const {
    return of_code(plan_.options.compiler->list_body(body.source, form_));
  }

  /// Whether the loop runs, or is expected to run, as one function; see strategy_of_undecided in
  /// explain.cpp.
  [[nodiscard]] bool is_whole(const BoundLoop& loop, const Expected<Body>& body) const {
    if (loop.is_compiled_whole()) return true;
    if (!loop.may_become_whole()) return false;
    if (const auto code = find_loop(plan_, *loop.whole->source)) return code->has_value();
    if (loop_whose_body_holds(binding_, loop) != nullptr) return false;
    const auto per_step = body ? plan_.bodies.find(body->source) : std::nullopt;
    return !(per_step && *per_step);
  }

  [[nodiscard]] std::string of_regions(const BoundLoop& loop) const {
    std::string text;
    for (const std::uint32_t index : loop.per_step.outlined_regions) {
      const OutlinedRegion& outlined = binding_.outlined_regions[index];
      const Expected<Body> body = describe_outlined_region(plan_, binding_, outlined);
      if (!body) continue;
      text += comment("outlined region: ",
                      fmt::format("instructions {} to {}", outlined.first, outlined.last - 1));
      text += of_body(*body);
    }
    return text;
  }

  [[nodiscard]] std::string of_loop(const BoundLoop& loop) const {
    const std::string name = describe(plan_, loop.node) + ": ";
    const Expected<Body> body = describe_body(plan_, binding_, loop);
    if (is_whole(loop, body))
      return comment(name, describe_strategy(binding_, loop)) +
             of_code(plan_.options.compiler->list_loop(*loop.whole->source, form_));
    if (const BoundLoop* const around = loop_whose_body_holds(binding_, loop))
      return comment(name, "part of the code of " + describe(plan_, around->node));
    return comment(name, describe_strategy(binding_, loop)) +
           (body ? of_body(*body) : of_regions(loop));
  }

  const Binding& binding_;
  const Plan& plan_;
  jit::CodeForm form_;
};

}  // namespace

std::string print_code(const Binding& binding, jit::CodeForm form) {
  return CodeText(binding, form).all();
}

}  // namespace scanloom::plan
