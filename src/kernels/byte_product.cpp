#include "kernels/byte_product.h"

#include "kernels/isa_tables.h"

#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace scanloom::kernels {

#if defined(__x86_64__)
namespace N_SSE4 {
extern const ByteTables kByteTables;
}
namespace N_AVX2 {
extern const ByteTables kByteTables;
}
namespace N_AVX3 {
extern const ByteTables kByteTables;
}
extern const QuadProductFns kVnniProducts, kAvxVnniProducts;
extern const TallStripFn kAmxStrip, kAmxSignedRows;

namespace {

// Bit 4 of EAX of leaf 7, subleaf 1.
bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && a >= 1 &&
         __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 0x10U) != 0;
}

// Bits 24 (tiles) and 25 (products of bytes) of EDX of leaf 7, and the system's permission: Linux
// saves the tiles, which are 8 KB, only of processes that ask for it.
// Linux then refuses small alternate stacks for signals to all threads of the process, so a named
// instruction set leaves tiles out.
bool may_use_amx() {
  if (std::getenv("SCANLOOM_ISA") != nullptr) return false;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (~d & 0x3000000U) != 0) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

QuadProductFns with_amx(QuadProductFns fns) {
  if (!may_use_amx()) return fns;
  fns.tall = kAmxStrip;
  fns.tall_signed_rows = kAmxSignedRows;
  return fns;
}

}  // namespace

const ByteTables& byte_tables(Isa isa) {
  return table_for(isa, N_SSE4::kByteTables, N_AVX2::kByteTables, N_AVX3::kByteTables);
}

const QuadProductFns& quad_products(Isa isa) {
  static const bool avx512 = __builtin_cpu_supports("avx512vnni"), avx = has_avx_vnni();
  if (isa == Isa::avx512 && avx512) {
    static const QuadProductFns fastest = with_amx(kVnniProducts);
    return fastest;
  }
  return isa != Isa::baseline && avx ? kAvxVnniProducts : byte_tables(isa).products;
}
#else
namespace N_NEON {
extern const ByteTables kByteTables;
}

const ByteTables& byte_tables(Isa) { return N_NEON::kByteTables; }
const QuadProductFns& quad_products(Isa isa) { return byte_tables(isa).products; }
#endif

const QuadProductFns* bounded_products(Isa isa) {
  const QuadProductFns& bounded = byte_tables(isa).bounded;
  return multiplies_bytes(isa) || bounded.strip[0] == nullptr ? nullptr : &bounded;
}

}  // namespace scanloom::kernels
