#include "runtime/outlined_regions.h"

#include <algorithm>
#include <utility>

#include "runtime/failed_steps.h"

namespace scanloom::runtime {

OutlinedRegions::OutlinedRegions(Values& values, KernelCalls& kernels, RunProgress& progress,
                                 std::span<LoopState> loops)
    : binding_(values.binding),
      values_(values),
      kernels_(kernels),
      progress_(progress),
      loops_(loops) {
  if (binding_.outlined_regions.empty()) return;
  list_ = binding_.code;
  regions_.resize(binding_.outlined_regions.size());
  for (std::size_t i = 0; i < regions_.size(); ++i) set(i, binding_.outlined_regions[i].code);
}

void OutlinedRegions::set(std::size_t index, const plan::BodyCode& made) {
  regions_[index] = made;
  if (made.code.run == nullptr) return;
  list_[binding_.outlined_regions[index].first] = {plan::Op::outlined_region,
                                                   static_cast<std::uint32_t>(index)};
}

bool OutlinedRegions::allowed(const Limits& limits) const {
  return limits.max_steps < 0 || std::ranges::all_of(
                                     binding_.outlined_regions,
                                     [&](const plan::OutlinedRegion& region) {
                                       return region.max_inner_trips <= limits.max_steps;
                                     });
}

const plan::Instruction* OutlinedRegions::list(const Limits& limits) const {
  const bool as_code = !list_.empty() && progress_.profile() == nullptr && allowed(limits);
  return as_code ? list_.data() : binding_.code.data();
}

Expected<void> OutlinedRegions::compile(std::uint32_t loop, const plan::MayGoOn& may_go_on) {
  for (const std::uint32_t index : binding_.loops[loop].per_step.outlined_regions) {
    Expected<plan::BodyCode> made = plan::compile_outlined_region(
        *binding_.plan, binding_, binding_.outlined_regions[index], may_go_on);
    if (!made && plan::is_of_limits(made.error())) return std::move(made).error();
    if (made) set(index, *made);
  }
  return {};
}

void OutlinedRegions::adopt(const OutlinedRegions& main) {
  for (std::size_t i = 0; i < regions_.size(); ++i)
    if (regions_[i].code.run == nullptr && main.regions_[i].code.run != nullptr)
      set(i, main.regions_[i]);
}

Expected<void> OutlinedRegions::run(std::uint32_t index, Watch& watch) {
  const plan::OutlinedRegion& region = binding_.outlined_regions[index];
  jit::BodyFrame frame{values_.slots.data(), kernels_.data(), 0, regions_[index].parameters.data()};
  if (regions_[index].code.run(&frame, 0, 1) == jit::kBodyFault) {
    frame.failed_steps[0] = loops_[region.loop].step;
    const std::uint32_t at = find_failed(binding_, loops_, region.loop, frame);
    progress_.set_failed_at(at);
    return kernels_.error(binding_.calls[binding_.code[at].index].node);
  }
  progress_.add_steps(region.inner_steps);
  progress_.charge(region.charged);
  if (progress_.is_overdue()) [[unlikely]]
    return progress_.poll_in_step(watch);
  return {};
}

}  // namespace scanloom::runtime
