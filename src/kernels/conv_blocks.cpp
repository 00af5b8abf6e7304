#include "kernels/conv_blocks.h"

#include "kernels/isa_tables.h"

namespace scanloom::kernels {

#if defined(__x86_64__)
namespace N_SSE4 {
extern const ConvBlockTables kConvBlockTables;
}
namespace N_AVX2 {
extern const ConvBlockTables kConvBlockTables;
}
namespace N_AVX3 {
extern const ConvBlockTables kConvBlockTables;
}

const ConvBlockTables& conv_block_tables(Isa isa) {
  return table_for(isa, N_SSE4::kConvBlockTables, N_AVX2::kConvBlockTables,
                   N_AVX3::kConvBlockTables);
}
#else
namespace N_NEON {
extern const ConvBlockTables kConvBlockTables;
}

const ConvBlockTables& conv_block_tables(Isa) { return N_NEON::kConvBlockTables; }
#endif

}  // namespace scanloom::kernels
