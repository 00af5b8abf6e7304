// Tables of functions that are compiled once per instruction set.
#pragma once

#include <concepts>

#include "base/cpu.h"

namespace scanloom::kernels {

#if defined(__x86_64__)
/// Returns the table for an instruction set of x86-64.
template <class Table>
constexpr const Table& table_for(Isa isa, const Table& sse4, const Table& avx2,
                                 const Table& avx512) {
  switch (isa) {
    case Isa::avx512:
      return avx512;
    case Isa::avx2:
      return avx2;
    case Isa::baseline:
    case Isa::neon:
      return sse4;
  }
  return sse4;
}
#endif

/// Returns the functions of a table for elements of type T, float or double.
template <class T, class Table>
constexpr const auto& functions_for(const Table& table) {
  if constexpr (std::same_as<T, float>)
    return table.f32;
  else
    return table.f64;
}

}  // namespace scanloom::kernels
