// Parts of bodies that are machine code, between instructions that cannot be: a Run's own copy of
// the flat list has an instruction for each over its first one, which runs it and goes on behind
// it.
#include <algorithm>

#include "runtime/state.h"

namespace scanloom::runtime {

void Run::State::begin_sections() {
  if (binding->sections.empty()) return;
  code = binding->code;
  sections.resize(binding->sections.size());
  for (std::size_t i = 0; i < sections.size(); ++i) set_section(i, binding->sections[i].code);
}

void Run::State::set_section(std::size_t index, const plan::BodyCode& made) {
  sections[index] = made;
  if (made.code.run == nullptr) return;
  code[binding->sections[index].first] = {plan::Op::section, static_cast<std::uint32_t>(index)};
}

bool Run::State::sections_allowed(const Limits& limits) const {
  return limits.max_steps < 0 || std::ranges::all_of(
                                     binding->sections,
                                     [&](const plan::BoundSection& section) {
                                       return section.most_inner_trips <= limits.max_steps;
                                     });
}

Expected<void> Run::State::compile_sections(std::uint32_t loop, const plan::MayGoOn& may_go_on) {
  for (const std::uint32_t index : binding->loops[loop].per_step.sections) {
    Expected<plan::BodyCode> made =
        plan::compile_section(*binding->plan, *binding, binding->sections[index], may_go_on);
    if (!made && plan::is_of_limits(made.error())) return std::move(made).error();
    if (made) set_section(index, *made);
  }
  return {};
}

Expected<void> Run::State::run_section(std::uint32_t index, Watch& watch) {
  const plan::BoundSection& section = binding->sections[index];
  jit::BodyFrame frame{slots.data(), calls.data(), 0, sections[index].numbers.data()};
  if (sections[index].code.run(&frame, 0, 1) == jit::kBodyFault) {
    frame.failed_steps[0] = loops[section.loop].step;
    find_fault(section.loop, frame);
    return fault_error(binding->calls[binding->code[failed_at].index].node);
  }
  steps += section.inner_steps;
  time_left -= section.spent;
  if (time_left < 0) [[unlikely]]
    return look_in_step(watch);
  return {};
}

}  // namespace scanloom::runtime
