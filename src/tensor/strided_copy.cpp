#include "tensor/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tensor/for_each.h"
#include "tensor/visit.h"

namespace scanloom::tensor {
namespace {

constexpr std::array<std::int64_t, kMaxRank> kNoStrides{};

template <class T>
void copy_run(const T* from, std::int64_t from_step, T* to, std::int64_t to_step,
              std::int64_t count) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
}

/// Whether the elements are adjacent and in row-major order in both.
bool is_one_run(std::span<const std::int64_t> dims, const std::int64_t* from_strides,
                const std::int64_t* to_strides) {
  std::int64_t expected = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 1) continue;
    if (dims[i] == 0 || from_strides[i] != expected || to_strides[i] != expected) return false;
    expected *= dims[i];
  }
  return true;
}

template <class T>
void copy_rows(std::span<const std::int64_t> dims, const T* from, const std::int64_t* from_strides,
               T* to, const std::int64_t* to_strides) {
  RowCursor<2> rows(dims);
  rows.add(from_strides);
  rows.add(to_strides);
  for (rows.start(); !rows.done(); rows.next())
    copy_run(from + rows.offset(0), rows.step(0), to + rows.offset(1), rows.step(1), rows.length());
}

RowCursor<1> rows_of(const Operand& operand) {
  RowCursor<1> rows({operand.dims, static_cast<std::size_t>(operand.rank)});
  rows.add(operand.strides);
  rows.start();
  return rows;
}

// The rows of the two may differ in length: each step copies what is left of the shorter one.
template <class T>
void copy_reshaped(const Operand& from, const Operand& to) {
  RowCursor<1> sources = rows_of(from), targets = rows_of(to);
  std::int64_t read = 0, written = 0;
  while (!sources.done() && !targets.done()) {
    const std::int64_t count = std::min(sources.length() - read, targets.length() - written);
    copy_run(from.data<T>() + sources.offset(0) + read * sources.step(0), sources.step(0),
             to.data<T>() + targets.offset(0) + written * targets.step(0), targets.step(0), count);
    read += count;
    written += count;
    if (read == sources.length()) {
      sources.next();
      read = 0;
    }
    if (written == targets.length()) {
      targets.next();
      written = 0;
    }
  }
}

}  // namespace

void copy_strided(DType dtype, std::span<const std::int64_t> dims, const std::byte* from,
                  const std::int64_t* from_strides, std::byte* to,
                  const std::int64_t* to_strides) noexcept {
  if (is_one_run(dims, from_strides, to_strides)) {
    std::size_t bytes = dtype_bytes(dtype);
    for (const std::int64_t dim : dims) bytes *= static_cast<std::size_t>(dim);
    std::memcpy(to, from, bytes);
    return;
  }
  visit_bytes(dtype, [&]<class T>(std::type_identity<T>) {
    copy_rows(dims, reinterpret_cast<const T*>(from), from_strides, reinterpret_cast<T*>(to),
              to_strides);
  });
}

void copy_in_order(const Operand& from, const Operand& to) noexcept {
  visit_bytes(to.dtype, [&]<class T>(std::type_identity<T>) { copy_reshaped<T>(from, to); });
}

void fill(const Operand& to, const std::byte* value) noexcept {
  copy_strided(to.dtype, {to.dims, static_cast<std::size_t>(to.rank)}, value, kNoStrides.data(),
               to.data<std::byte>(), to.strides);
}

Status copy_kernel(const Call& call) noexcept {
  copy_in_order(call.in(0), call.out(0));
  return Status::ok;
}

}  // namespace scanloom::tensor
