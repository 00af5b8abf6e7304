// Type: the type of an IR value: a tensor, or sequences, optionals and maps around one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <scanloom/dtype.h>

#include "tensor/dim.h"
#include "tensor/shape.h"

namespace scanloom::tensor {

/// A map from i64 or strings has one more tensor, of its keys. The tensor inside has one value per
/// key, along its only axis.
enum class Wrap : std::uint8_t { sequence, optional, map_i64, map_string };

/// "sequence", "optional", "map".
std::string_view wrap_name(Wrap wrap);

[[nodiscard]] constexpr bool is_map(Wrap wrap) {
  return wrap == Wrap::map_i64 || wrap == Wrap::map_string;
}
/// Returns the element type of a map's keys. Precondition: is_map(wrap).
[[nodiscard]] constexpr DType key_dtype(Wrap wrap) {
  return wrap == Wrap::map_i64 ? DType::i64 : DType::string;
}
/// The opposite. Precondition: i64 or string.
[[nodiscard]] constexpr Wrap map_from(DType keys) {
  return keys == DType::i64 ? Wrap::map_i64 : Wrap::map_string;
}

/// wraps are outermost first: optional(sequence(f32[2])) is {optional, sequence}, at most 8. A map
/// is always the last one.
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

/// "f32[T,1,40]", "f32[*]" (unranked), "sequence(f32[2])", "optional(...)", "map(i64,f32[n])".
std::string to_string(const Type& type, const DimTable& dims);

}  // namespace scanloom::tensor
