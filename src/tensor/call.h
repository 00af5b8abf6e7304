// The calling convention of kernels, reference kernels included: Status kernel(const Call&)
// noexcept. Operands are bound before the first step; a pointer that changes from step to step
// (a slice, a swapped state, a feed) is read through its slot, so nothing is patched per step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <scanloom/dtype.h>

#include "base/expected.h"
#include "tensor/attr.h"
#include "tensor/stop_token.h"

namespace scanloom::tensor {

/// One strided tensor argument. Strides are in elements and may be zero or negative.
struct Operand {
  std::byte** slot = nullptr;  ///< null: absent, an optional input or an unread result
  std::int64_t offset = 0;     ///< bytes from *slot to the first element
  const std::int64_t* dims = nullptr;
  const std::int64_t* strides = nullptr;
  std::int32_t rank = 0;
  DType dtype = DType::f32;
  bool contiguous = true;

  [[nodiscard]] bool present() const { return slot != nullptr; }
  template <class T>
  [[nodiscard]] T* data() const {
    return reinterpret_cast<T*>(*slot + offset);
  }
  /// Whether there are no elements: some axis has size 0.
  [[nodiscard]] bool empty() const {
    for (int axis = 0; axis < rank; ++axis)
      if (dims[axis] == 0) return true;
    return false;
  }
  [[nodiscard]] std::int64_t elements() const {
    // The other axes of an empty tensor may have any size, so their product could overflow.
    if (empty()) return 0;
    std::int64_t count = 1;
    for (int axis = 0; axis < rank; ++axis) count *= dims[axis];
    return count;
  }
  [[nodiscard]] Shape shape() const {
    return Shape(std::span(dims, static_cast<std::size_t>(rank)));
  }
};

/// stopped: ended by the call's StopToken.
enum class Status : std::uint8_t { ok, fault, stopped };

/// A problem that a kernel found in its data: a text with up to two {} for the numbers, and
/// {value}.
struct Fault {
  Code code = Code::invalid_argument;
  const char* text = "";
  std::int64_t first = 0, second = 0;
  double value = 0;
};

/// Converts the fault to an error: its text with the numbers filled in.
Error to_error(const Fault& fault);

/// Counters that a random operator draws by, in addition to its seed: the number of this run of the
/// session, and how often the run has executed the node so far. One per node of a run, which resets
/// it; the kernel increments it.
struct SampleCounter {
  std::uint64_t run = 0, execution = 0;
};

/// Everything a kernel may read or write. Kernels keep no state and allocate nothing per call.
struct Call {
  const Operand* inputs = nullptr;
  const Operand* outputs = nullptr;
  std::uint16_t input_count = 0;
  std::uint16_t output_count = 0;
  std::uint16_t max_threads = 1;
  const Attr* attrs = nullptr;          ///< in the OpDef's order
  const void* prepared = nullptr;       ///< what the kernel's prepare function made when binding
  std::byte* const* scratch = nullptr;  ///< of the size that the kernel requested when binding
  Fault* fault = nullptr;
  SampleCounter* samples =
      nullptr;                ///< for random operators; null: the first execution of the first run
  StopToken* stop = nullptr;  ///< null: the call cannot be stopped early

  [[nodiscard]] const Operand& in(int i) const { return inputs[i]; }
  [[nodiscard]] const Operand& out(int i) const { return outputs[i]; }
  [[nodiscard]] bool has(int i) const { return i < input_count && inputs[i].present(); }
  [[nodiscard]] bool stop_requested() const { return stop != nullptr && stop->stop_requested(); }
  /// The status of a call that polled `stop`, once its threads have returned.
  [[nodiscard]] Status ok_or_stopped() const {
    return stop != nullptr && stop->stopped() ? Status::stopped : Status::ok;
  }
  [[nodiscard]] Status fail(const char* text, std::int64_t first = 0,
                            std::int64_t second = 0) const {
    *fault = {Code::invalid_argument, text, first, second, 0};
    return Status::fault;
  }
};

using KernelFn = Status (*)(const Call&) noexcept;

/// A call ready to execute.
struct HotCall {
  KernelFn run = nullptr;
  Call call;
};

/// The kernel for calls without anything to compute.
inline Status do_nothing(const Call& /*call*/) noexcept { return Status::ok; }

}  // namespace scanloom::tensor
