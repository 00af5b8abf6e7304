// Copies elements of any type between strided operands, for the reference kernels of operators that
// only rearrange elements. Never allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/call.h"

namespace scanloom::tensor {

/// Copies the index space `dims` between two memory areas that do not overlap; strides are in
/// elements, one per axis. Precondition: dims.size() <= kMaxRank.
void copy_strided(DType dtype, std::span<const std::int64_t> dims, const std::byte* from,
                  const std::int64_t* from_strides, std::byte* to,
                  const std::int64_t* to_strides) noexcept;

/// Copies row-major element i of `from` to row-major element i of `to`. Precondition: both have
/// equally many.
void copy_in_order(const Operand& from, const Operand& to) noexcept;

/// Whether both are the same memory, so that a kernel that updates its operand need not copy it.
[[nodiscard]] inline bool is_same_memory(const Operand& from, const Operand& to) noexcept {
  return from.data<std::byte>() == to.data<std::byte>();
}

/// Writes the one element at `value` to every element of `to`.
void fill(const Operand& to, const std::byte* value) noexcept;

/// copy_in_order of input 0 to output 0, as a kernel.
Status copy_kernel(const Call& call) noexcept;

/// The address `elements` elements after `base`.
template <class Byte>
[[nodiscard]] Byte* advance(Byte* base, DType dtype, std::int64_t elements) {
  return base + elements * static_cast<std::int64_t>(dtype_bytes(dtype));
}

}  // namespace scanloom::tensor
