#include "kernels/simd.h"

#include "kernels/isa_tables.h"
#include "kernels/joined_fns.h"

namespace scanloom::kernels {

#if defined(__x86_64__)
namespace N_SSE4 {
extern const SimdTables kTables;
extern const JoinedFns kJoinedFns;
}  // namespace N_SSE4
namespace N_AVX2 {
extern const SimdTables kTables;
extern const JoinedFns kJoinedFns;
}  // namespace N_AVX2
namespace N_AVX3 {
extern const SimdTables kTables;
extern const JoinedFns kJoinedFns;
}  // namespace N_AVX3

const JoinedFns& joined_fns(Isa isa) {
  return table_for(isa, N_SSE4::kJoinedFns, N_AVX2::kJoinedFns, N_AVX3::kJoinedFns);
}

const SimdTables& simd_tables(Isa isa) {
  return table_for(isa, N_SSE4::kTables, N_AVX2::kTables, N_AVX3::kTables);
}
#else
namespace N_NEON {
extern const SimdTables kTables;
extern const JoinedFns kJoinedFns;
}  // namespace N_NEON

const JoinedFns& joined_fns(Isa) { return N_NEON::kJoinedFns; }

const SimdTables& simd_tables(Isa) { return N_NEON::kTables; }
#endif

}  // namespace scanloom::kernels
