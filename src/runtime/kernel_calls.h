// KernelCalls: the calls of kernels whose sizes the binding knows, ready to be made, and what all
// calls of a Run share: where kernels report a fault, ask whether to stop, and draw random numbers.
// Invariant: every pointer of a call stays valid for as long as the Run lives.
#pragma once

#include <cstdint>
#include <vector>

#include "base/expected.h"
#include "plan/binding.h"
#include "runtime/limits.h"
#include "runtime/values.h"
#include "tensor/call.h"

namespace scanloom::runtime {

class KernelCalls {
 public:
  KernelCalls(Values& values, int max_threads);
  KernelCalls(const KernelCalls&) = delete;
  KernelCalls& operator=(const KernelCalls&) = delete;

  /// `number`: which run of the session this is, for random operators.
  void begin_run(std::uint64_t number);
  /// Returns the calls by index of Binding::calls.
  [[nodiscard]] const tensor::HotCall* data() const { return calls_.data(); }
  /// Makes a call; once for each of the binding's calls and dynamic calls, whose number is what
  /// there is room for.
  tensor::HotCall make(const plan::BoundCall& call);
  /// Returns why a call has returned a status that is not ok. Throws what stopped it.
  [[nodiscard]] Error error(ir::NodeId node);
  [[nodiscard]] KernelWatch& watch() { return watch_; }
  [[nodiscard]] int max_threads() const { return max_threads_; }

 private:
  Values& values_;
  int max_threads_;
  tensor::Fault fault_;
  KernelWatch watch_;
  std::vector<tensor::SampleCounter> samples_;  // of the random calls, which point here
  std::vector<tensor::HotCall> calls_;
};

}  // namespace scanloom::runtime
