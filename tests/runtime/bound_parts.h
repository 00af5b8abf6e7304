// Parts of a run over a binding, for tests of one part at a time: without instructions, so that a
// test calls the part itself.
#pragma once

#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "ir/parse.h"
#include "ops/ops.h"
#include "plan/binding.h"
#include "plan/plan.h"
#include "runtime/dynamic_tensors.h"
#include "runtime/kernel_calls.h"
#include "runtime/loop_control.h"
#include "runtime/objects.h"
#include "runtime/progress.h"
#include "runtime/stacked_rows.h"

namespace scanloom::runtime {

inline std::shared_ptr<const plan::Binding> bind_text(std::string_view text,
                                                      const std::vector<tensor::Shape>& shapes) {
  Expected<ir::Module> module = ir::parse(text, ops::find_op);
  if (!module) throw std::runtime_error(module.error().message());
  auto binding = plan::bind(plan::make_plan(*std::move(module), {}), shapes);
  if (!binding) throw std::runtime_error(binding.error().message());
  return *std::move(binding);
}

/// A loop named 'walk' that adds the slices of xs to s, and stacks the sums. The number of
/// steps is an input.
inline constexpr const char* kWalk = R"(module {
  graph(%0 "n": i64[], %1 "s": f32[2], %2 "xs": f32[T,2]) {
    %3, %4 = loop trip(%0) carried(%1) scanned(%2 axis 0) stacked(axis 0) : f32[2], f32[?0,2]
    loc("node 'walk'") {
      body(%5: f32[2], %6: f32[2]) {
        %7 = add(%5, %6) : f32[2]
        yield %7, %7
      }
    }
    yield %3 "last", %4 "sums"
  }
})";

struct BoundParts {
  explicit BoundParts(std::shared_ptr<const plan::Binding> bound, std::int64_t max_memory = 1 << 20)
      : binding(std::move(bound)),
        loops(make_loop_states(*binding)),
        memory(*binding),
        values(*binding, allocate_aligned(binding->arena_bytes + binding->scratch_bytes)),
        progress(*binding, loops),
        kernels(values, 1),
        tensors(values, memory),
        objects(values, memory, progress),
        rows(values, memory, tensors, objects, loops),
        control(values, objects, loops) {
    memory.set_release([this] { ++releases; });
    memory.begin_run(max_memory, 0).value_or_throw();
    progress.begin_run(nullptr);
  }

  /// Makes the slots of this input point to the data.
  template <class T>
  void feed(std::int32_t input, std::vector<T>& data) {
    for (std::size_t i = 0; i < values.slots.size(); ++i)
      if (const plan::SlotInit& init = binding->slots[i];
          init.kind == plan::SlotInit::Kind::feed && init.index == input)
        values.slots[i] = reinterpret_cast<std::byte*>(data.data());
  }

  const std::shared_ptr<const plan::Binding> binding;
  std::vector<LoopState> loops;
  RunMemory memory;
  Values values;
  RunProgress progress;
  KernelCalls kernels;
  DynamicTensors tensors;
  Objects objects;
  StackedRows rows;
  LoopControl control;
  int releases = 0;  ///< how often memory kept for later runs was to be freed
};

}  // namespace scanloom::runtime
