#include "kernels/linear_blocks.h"

#include "kernels/isa_tables.h"

namespace scanloom::kernels {

#if defined(__x86_64__)
namespace N_SSE4 {
extern const LinearTables kLinearTables;
}
namespace N_AVX2 {
extern const LinearTables kLinearTables;
}
namespace N_AVX3 {
extern const LinearTables kLinearTables;
}

const LinearTables& linear_tables(Isa isa) {
  return table_for(isa, N_SSE4::kLinearTables, N_AVX2::kLinearTables, N_AVX3::kLinearTables);
}
#else
namespace N_NEON {
extern const LinearTables kLinearTables;
}

const LinearTables& linear_tables(Isa) { return N_NEON::kLinearTables; }
#endif

}  // namespace scanloom::kernels
