// Parts of bodies that are machine code, between instructions that cannot be: a Run's own copy of
// the flat list has an instruction for each over its first one, which runs it and goes on behind
// it.
#include <algorithm>

#include "runtime/state.h"

namespace scanloom::runtime {

void Run::State::begin_regions() {
  if (binding->regions.empty()) return;
  code = binding->code;
  regions.resize(binding->regions.size());
  for (std::size_t i = 0; i < regions.size(); ++i) set_region(i, binding->regions[i].code);
}

void Run::State::set_region(std::size_t index, const plan::BodyCode& made) {
  regions[index] = made;
  if (made.code.run == nullptr) return;
  code[binding->regions[index].first] = {plan::Op::region, static_cast<std::uint32_t>(index)};
}

bool Run::State::regions_allowed(const Limits& limits) const {
  return limits.max_steps < 0 || std::ranges::all_of(
                                     binding->regions,
                                     [&](const plan::BoundRegion& region) {
                                       return region.most_inner_trips <= limits.max_steps;
                                     });
}

Expected<void> Run::State::compile_regions(std::uint32_t loop, const plan::MayGoOn& may_go_on) {
  for (const std::uint32_t index : binding->loops[loop].regions) {
    Expected<plan::BodyCode> made =
        plan::compile_region(*binding->plan, *binding, binding->regions[index], may_go_on);
    if (!made && plan::is_of_limits(made.error())) return std::move(made).error();
    if (made) set_region(index, *made);
  }
  return {};
}

Expected<void> Run::State::run_region(std::uint32_t index, Watch& watch) {
  const plan::BoundRegion& region = binding->regions[index];
  jit::BodyFrame frame{slots.data(), calls.data(), 0, regions[index].numbers.data()};
  if (regions[index].code.run(&frame, 0, 1) == jit::kBodyFault) {
    frame.failed_steps[0] = loops[region.loop].step;
    find_fault(region.loop, frame);
    return fault_error(binding->calls[binding->code[failed_at].index].node);
  }
  steps += region.inner_steps;
  time_left -= region.spent;
  if (time_left < 0) [[unlikely]]
    return look_in_step(watch);
  return {};
}

}  // namespace scanloom::runtime
