#include "runtime/run_state.h"

#include <utility>

namespace scanloom::runtime {

RunState::RunState(std::shared_ptr<const plan::Binding> bound, AlignedBytes arena, int max_threads)
    : binding(std::move(bound)),
      loops(make_loop_states(*binding)),
      memory(*binding),
      values(*binding, std::move(arena)),
      progress(*binding, loops),
      kernels(values, max_threads),
      tensors(values, memory),
      objects(values, memory, progress),
      rows(values, memory, tensors, objects, loops),
      dynamic_calls(values, memory, tensors, kernels, progress),
      control(values, objects, loops),
      regions(values, kernels, progress, loops),
      blocks(values, executor, loops),
      speculated(*this),
      code({.values = values,
            .kernels = kernels,
            .progress = progress,
            .tensors = tensors,
            .rows = rows,
            .control = control,
            .blocks = blocks,
            .regions = regions,
            .speculated = speculated,
            .loops = loops}),
      parallel(*this),
      driver({.values = values,
              .progress = progress,
              .tensors = tensors,
              .objects = objects,
              .rows = rows,
              .control = control,
              .blocks = blocks,
              .code = code,
              .parallel = parallel,
              .loops = loops}),
      executor({.values = values,
                .progress = progress,
                .kernels = kernels,
                .tensors = tensors,
                .objects = objects,
                .dynamic_calls = dynamic_calls,
                .control = control,
                .regions = regions,
                .code = code,
                .driver = driver,
                .loops = loops}) {
  memory.set_release([this] { release_kept(); });
}

void RunState::end_run() {
  objects.end_run();
  tensors.return_borrowed();
  rows.end_run();
}

void RunState::release_kept() {
  tensors.release_unwritten();
  parallel.release_workers();
  dynamic_calls.release_scratch();
}

}  // namespace scanloom::runtime
