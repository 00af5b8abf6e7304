// Type: the type of an IR value: a tensor, or sequences and optionals around one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <scanloom/dtype.h>

#include "tensor/dim.h"
#include "tensor/shape.h"

namespace scanloom::tensor {

enum class Wrap : std::uint8_t { sequence, optional };

/// wraps are outermost first: optional(sequence(f32[2])) is {optional, sequence}, at most 8.
struct Type {
  static constexpr std::size_t kMaxWraps = 8;

  DType dtype = DType::f32;
  bool ranked = true;  ///< false: even the number of axes is unknown, and dims is empty
  std::vector<Dim> dims;
  std::vector<Wrap> wraps;

  static Type of(DType dtype, std::vector<Dim> dims) { return {dtype, true, std::move(dims), {}}; }
  static Type of(DType dtype, std::initializer_list<Dim> dims) {
    return {dtype, true, std::vector<Dim>(dims), {}};
  }
  static Type of(DType dtype, const Shape& shape) {
    return {dtype, true, std::vector<Dim>(shape.begin(), shape.end()), {}};
  }
  static Type unranked(DType dtype) { return {dtype, false, {}, {}}; }
  static Type scalar(DType dtype) { return {dtype, true, {}, {}}; }

  [[nodiscard]] bool is_tensor() const { return wraps.empty(); }
  [[nodiscard]] int rank() const { return static_cast<int>(dims.size()); }
  /// Whether it is a tensor whose sizes are all numbers.
  [[nodiscard]] bool is_static() const;
  /// Precondition: is_static().
  [[nodiscard]] Shape shape() const;
  friend bool operator==(const Type&, const Type&) = default;
};

/// "f32[T,1,40]", "f32[*]" (unranked), "sequence(f32[2])", "optional(...)".
std::string to_string(const Type& type, const DimTable& dims);

}  // namespace scanloom::tensor
