// KernelCalls: the prepared kernel calls of static sizes, and the state that all calls of a Run
// share: the fault that kernels report, the stop token that they poll, and the sample counters of
// random operators. Invariant: every pointer in a call stays valid while the Run lives.
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

  /// `number` counts the runs of the session; random operators depend on it.
  void begin_run(std::uint64_t number);
  /// Returns the calls, by index of Binding::calls.
  [[nodiscard]] const tensor::HotCall* data() const { return calls_.data(); }
  /// Prepares a call. Called once for each static and each dynamic call of the binding, since
  /// memory is reserved for that many.
  tensor::HotCall make(const plan::BoundCall& call);
  /// Returns the error of a call whose status was not ok. Rethrows an exception that stopped it.
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
