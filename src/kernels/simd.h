// The functions that are compiled once per instruction set (simd/), as tables. Whoever prepares a
// kernel picks a table once and keeps pointers to its functions; nothing is looked up when running.
#pragma once

#include "base/cpu.h"
#include "kernels/element_fns.h"
#include "kernels/elimination.h"
#include "kernels/lstm_step.h"
#include "kernels/product.h"

namespace scanloom::kernels {

struct SimdTables {
  ProductFns<float> f32;
  ProductFns<double> f64;
  VectorFns (*f32_elements)(tensor::ScalarOp);
  VectorFns (*f64_elements)(tensor::ScalarOp);
  EliminateFn<float> f32_eliminate;
  EliminateFn<double> f64_eliminate;
  void (*lstm_step)(const LstmStep&);
  bool fuses;  ///< products multiply and add with one rounding
};

/// The best table that `isa` permits.
const SimdTables& simd_tables(Isa isa);

/// Whether products made by that table round as the reference kernels do: not on an AArch64 that is
/// masked to baseline, whose vectors always fuse.
bool products_agree(Isa isa);

}  // namespace scanloom::kernels
