// Combining element programs, and removing what they do not need.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/scalar.h"

namespace scanloom::loopnest {

/// Appends `from` to `to`, given the register in `to` of each of its inputs. Returns the registers
/// of its results.
std::vector<std::int32_t> append_program(tensor::ScalarProgram& to,
                                         const tensor::ScalarProgram& from,
                                         std::vector<std::int32_t> registers);

/// Removes instructions that no result depends on.
void drop_dead(tensor::ScalarProgram& program);

}  // namespace scanloom::loopnest
