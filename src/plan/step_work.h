// What a step of a bound loop moves and computes, as far as binding knows: for choosing strategies
// and for people.
#pragma once

#include <cstdint>

#include "plan/binding.h"

namespace scanloom::plan {

struct CallWork {
  double products = 0;  ///< multiplications of a contract; else 0
  double elements = 0;  ///< of the largest operand or result
  std::int64_t bytes = 0;
};
CallWork work_of(const Binding& binding, const BoundCall& call);

struct StepWork {
  std::int64_t bytes = 0;  ///< that calls read and write; of a compiled loop, slices and rows
  double operations = 0;   ///< two for each multiplication of a product, else one per element
  std::int64_t state_bytes = 0;
  bool is_all = true;  ///< false: neither loops inside nor values whose sizes data decide count
};
StepWork step_work(const Binding& binding, const BoundLoop& loop);

}  // namespace scanloom::plan
