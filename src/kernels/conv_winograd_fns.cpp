#include "kernels/conv_winograd_fns.h"

#include "kernels/isa_tables.h"

namespace scanloom::kernels {

#if defined(__x86_64__)
namespace N_SSE4 {
extern const WinogradFns kWinogradFns;
}
namespace N_AVX2 {
extern const WinogradFns kWinogradFns;
}
namespace N_AVX3 {
extern const WinogradFns kWinogradFns;
}

const WinogradFns& winograd_fns(Isa isa) {
  return table_for(isa, N_SSE4::kWinogradFns, N_AVX2::kWinogradFns, N_AVX3::kWinogradFns);
}
#else
namespace N_NEON {
extern const WinogradFns kWinogradFns;
}

const WinogradFns& winograd_fns(Isa) { return N_NEON::kWinogradFns; }
#endif

}  // namespace scanloom::kernels
