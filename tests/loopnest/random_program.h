// Random choices, and element programs made by them.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tensor/scalar.h"

namespace scanloom::loopnest::test {

class ProgramWriter {
 protected:
  explicit ProgramWriter(std::uint64_t seed) : random_(seed) {}

  // The generator's own arithmetic: distributions of the library differ from one to the next.
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  bool chance(std::int64_t one_in) { return below(one_in) == 0; }

  /// The type of an element, or one that reductions accumulate in.
  DType any_dtype();
  DType any_accumulator();

  /// Appends some instructions, and results of these types.
  void finish(tensor::ScalarProgram& program, const std::vector<DType>& results);

  std::mt19937_64 random_;

 private:
  std::int32_t any_of(const tensor::ScalarProgram& program, DType dtype);
  std::int32_t some(tensor::ScalarProgram& program, DType dtype);
  void append_instruction(tensor::ScalarProgram& program);
};

}  // namespace scanloom::loopnest::test
