// The blocks of linear recurrences (opmath/linear_scan.h), compiled once per instruction set.
#pragma once

#include "base/cpu.h"
#include "opmath/linear_scan.h"

namespace scanloom::kernels {

struct LinearTables {
  tensor::LinearBlocksFn<float> f32;
  tensor::LinearBlocksFn<double> f64;
};

/// The best table that `isa` permits.
const LinearTables& linear_tables(Isa isa);

}  // namespace scanloom::kernels
