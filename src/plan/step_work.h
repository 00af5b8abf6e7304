// The bytes that a step of a bound loop moves and the operations that it computes, as far as
// binding knows. Used to choose strategies, and by `explain`.
#pragma once

#include <cstdint>

#include "plan/binding.h"

namespace scanloom::plan {

struct CallWork {
  double products = 0;  ///< multiplications of a contract or integer_matmul; otherwise 0
  double elements = 0;  ///< of the largest operand or result
  std::int64_t bytes = 0;
};
CallWork work_of(const Binding& binding, const BoundCall& call);

struct StepWork {
  std::int64_t bytes = 0;  ///< read and written by calls; of a compiled loop, its slices and rows
  double operations = 0;   ///< two per multiplication of a product, otherwise one per element
  std::int64_t state_bytes = 0;
  bool is_all = true;  ///< false: excludes inner loops and calls of data-dependent size
};
StepWork step_work(const Binding& binding, const BoundLoop& loop);

}  // namespace scanloom::plan
