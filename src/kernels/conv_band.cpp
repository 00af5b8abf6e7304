#include "kernels/conv_band.h"

#include "kernels/isa_tables.h"

namespace scanloom::kernels {

#if defined(__x86_64__)
namespace N_SSE4 {
extern const ConvTables kConvTables;
}
namespace N_AVX2 {
extern const ConvTables kConvTables;
}
namespace N_AVX3 {
extern const ConvTables kConvTables;
}

const ConvTables& conv_tables(Isa isa) {
  return table_for(isa, N_SSE4::kConvTables, N_AVX2::kConvTables, N_AVX3::kConvTables);
}
#else
namespace N_NEON {
extern const ConvTables kConvTables;
}

const ConvTables& conv_tables(Isa) { return N_NEON::kConvTables; }
#endif

}  // namespace scanloom::kernels
