#include "kernels/block_columns.h"

#include "kernels/isa_tables.h"

namespace scanloom::kernels {

#if defined(__x86_64__)
namespace N_SSE4 {
extern const BlockFns kBlockFns;
}
namespace N_AVX2 {
extern const BlockFns kBlockFns;
}
namespace N_AVX3 {
extern const BlockFns kBlockFns;
}

const BlockFns& block_fns(Isa isa) {
  return table_for(isa, N_SSE4::kBlockFns, N_AVX2::kBlockFns, N_AVX3::kBlockFns);
}
#else
namespace N_NEON {
extern const BlockFns kBlockFns;
}

const BlockFns& block_fns(Isa) { return N_NEON::kBlockFns; }
#endif

}  // namespace scanloom::kernels
