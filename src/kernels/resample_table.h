// ResampleTable: the elements that each element of a resampled axis is made of, and their weights.
// Made at binding if the scale is a constant, otherwise by each run in its scratch memory.
#pragma once

#include <cstdint>
#include <vector>

#include "opmath/resample.h"

namespace scanloom::kernels {

/// Entry t * out + o is for tap t of element o of the result.
template <class T>
struct ResampleTable {
  std::int32_t* sources = nullptr;
  T* weights = nullptr;  ///< null for the nearest_ modes, which have one tap
  bool has_zeros = false;
  bool ascends = true;  ///< whether the sources of each tap do
};

/// Returns the number of taps; it does not depend on the scale unless the filter is stretched.
inline std::int64_t taps_of(const Resampling& of) {
  if (of.mode.starts_with("nearest_")) return 1;
  const ResampleFilter filter(of, 0);
  return filter.last() - filter.first();
}

template <class T>
void fill_table(const Resampling& of, ResampleTable<T>& table) {
  const ResampleCoordinates coordinates(of);
  for (std::int64_t o = 0; o < of.out; ++o) {
    const double position = coordinates.at(o);
    if (table.weights == nullptr) {
      table.sources[o] = static_cast<std::int32_t>(nearest_element(of.mode, position, of.in));
      continue;
    }
    const ResampleFilter filter(of, position);
    for (std::int64_t i = filter.first(); i < filter.last(); ++i) {
      const std::int64_t at = (i - filter.first()) * of.out + o;
      table.sources[at] = static_cast<std::int32_t>(filter.element(i));
      table.weights[at] = static_cast<T>(filter.weight(i));
      table.has_zeros |= table.weights[at] == 0;
      table.ascends &= o == 0 || table.sources[at] >= table.sources[at - 1];
    }
  }
}

}  // namespace scanloom::kernels
