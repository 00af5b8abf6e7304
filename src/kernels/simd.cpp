#include "kernels/simd.h"

namespace scanloom::kernels {

#if defined(__x86_64__)
namespace N_SSE4 {
extern const SimdTables kTables;
}
namespace N_AVX2 {
extern const SimdTables kTables;
}
namespace N_AVX3 {
extern const SimdTables kTables;
}

const SimdTables& simd_tables(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return N_AVX3::kTables;
    case Isa::avx2:
      return N_AVX2::kTables;
    case Isa::baseline:
    case Isa::neon:
      return N_SSE4::kTables;
  }
  return N_SSE4::kTables;
}
#else
namespace N_NEON {
extern const SimdTables kTables;
}

const SimdTables& simd_tables(Isa) { return N_NEON::kTables; }
#endif

}  // namespace scanloom::kernels
