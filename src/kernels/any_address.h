// Constants at any address, as files store them (KernelDef::packs_unaligned). A pointer to their
// elements may be unaligned, so that it must not be dereferenced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace scanloom::kernels {

template <class T>
bool is_aligned(const T* at) {
  return reinterpret_cast<std::uintptr_t>(at) % alignof(T) == 0;
}

/// Returns from[i].
template <class T>
T element_at(const T* from, std::int64_t i) {
  T value;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(from) + i * std::int64_t{sizeof(T)},
              sizeof(T));
  return value;
}

/// Returns the elements themselves if they are aligned, otherwise a copy of them in `memory`.
template <class T>
const T* aligned_elements(const T* from, std::int64_t count, std::vector<T>& memory) {
  if (is_aligned(from)) return from;
  memory.resize(static_cast<std::size_t>(count));
  std::memcpy(memory.data(), reinterpret_cast<const std::byte*>(from), memory.size() * sizeof(T));
  return memory.data();
}

}  // namespace scanloom::kernels
