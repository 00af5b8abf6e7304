// DynamicTensors: memory and meaning of tensors whose sizes only the run knows. Every write infers
// sizes first and reserves memory that grows geometrically; copying a tensor shares its storage
// until one side is written again. Invariant: storage that is written belongs to one tensor alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/expected.h"
#include "plan/binding.h"
#include "runtime/run_memory.h"
#include "runtime/values.h"

namespace scanloom::runtime {

/// Not thread safe.
class DynamicTensors {
 public:
  DynamicTensors(Values& values, RunMemory& memory) : values_(values), memory_(memory) {}

  /// `number`: of the runs of this Run; a worker has that of the run it belongs to.
  void begin_run(std::uint64_t number) { run_ = number; }
  [[nodiscard]] std::uint64_t run_number() const { return run_; }

  /// Gives the tensor these sizes, and memory for them that it owns alone. Its elements are lost.
  /// `wish`: so many bytes will be wanted soon, if the budget allows. Errors: limit_reached,
  /// out_of_memory.
  Expected<void> reserve(const plan::Spot& spot, const tensor::Shape& dims, ir::NodeId node,
                         std::int64_t wish = 0);
  /// Makes `to`, a value of any kind, mean `from`. `moved`: nothing reads `from` again. Errors:
  /// those of reserve().
  Expected<void> assign(const plan::Spot& from, const plan::Spot& to, ir::NodeId node,
                        bool moved = false);
  /// Returns where the first slice of a scanned value is, whose rows are stored one after the other
  /// from then on. Errors: those of reserve().
  Expected<std::byte*> first_slice(const plan::BoundScanned& port, ir::NodeId node);
  /// Makes a scanned dynamic value the slice of that step. Precondition: the axis exists and has
  /// that slice.
  void set_slice(const plan::BoundScanned& port, std::int64_t step);

  /// Frees storage that this run has not written. Not while a kernel is being prepared.
  void release_unwritten();
  /// Frees all storage.
  void release_all();
  /// Forgets who owns borrowed memory, when the run has ended.
  void return_borrowed();

 private:
  /// Makes `to` share or take the tensor; whether it could.
  bool share(const plan::Spot& from, const plan::Spot& to, bool moved);

  Values& values_;
  RunMemory& memory_;
  std::uint64_t run_ = 0;
};

}  // namespace scanloom::runtime
