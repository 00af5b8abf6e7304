#include "runtime/loop_state.h"

namespace scanloom::runtime {

WholeLoop::WholeLoop(const plan::BoundLoop& loop) : code(loop.whole->code) {
  captured.resize(loop.whole->captured.size());
  carried_in.resize(loop.carried.size());
  carried_out.resize(loop.carried.size());
  scanned.resize(loop.scanned.size());
  stacked.resize(loop.stacked.size());
  for (const plan::BoundScanned& port : loop.scanned) scanned_strides.push_back(port.step_bytes);
  for (const plan::BoundStacked& port : loop.stacked) stacked_strides.push_back(port.step_bytes);
}

LoopState::LoopState(const plan::BoundLoop& loop) {
  if (loop.per_step.code.code.run != nullptr) stepping = PerStepLoop{loop.per_step.code};
  if (loop.whole) whole = std::make_unique<WholeLoop>(loop);
}

std::vector<LoopState> make_loop_states(const plan::Binding& binding) {
  std::vector<LoopState> states;
  states.reserve(binding.loops.size());
  for (const plan::BoundLoop& loop : binding.loops) states.emplace_back(loop);
  return states;
}

}  // namespace scanloom::runtime
