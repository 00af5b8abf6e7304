// Shape: known sizes of a tensor with at most kMaxRank axes, held inline.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace scanloom::tensor {

inline constexpr int kMaxRank = 16;

/// Sizes are >= 0. Also used for strides, in elements and of any sign.
class Shape {
 public:
  constexpr Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  /// Precondition: dims.size() <= kMaxRank.
  explicit Shape(std::span<const std::int64_t> dims);
  static Shape filled(int rank, std::int64_t value);

  [[nodiscard]] int rank() const { return rank_; }
  std::int64_t& operator[](int axis) { return dims_[static_cast<std::size_t>(axis)]; }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] const std::int64_t* data() const { return dims_.data(); }
  [[nodiscard]] std::span<const std::int64_t> dims() const {
    return {dims_.data(), static_cast<std::size_t>(rank_)};
  }
  [[nodiscard]] auto begin() const { return dims().begin(); }
  [[nodiscard]] auto end() const { return dims().end(); }
  /// Precondition: rank() < kMaxRank.
  void push_back(std::int64_t dim) { dims_[static_cast<std::size_t>(rank_++)] = dim; }
  void insert(int axis, std::int64_t dim);
  void erase(int axis);

  /// The product of the sizes; wraps if checked_elements() is nullopt.
  [[nodiscard]] std::int64_t elements() const;
  /// nullopt if a size is negative or the product exceeds 2^40, the limit of any tensor.
  [[nodiscard]] std::optional<std::int64_t> checked_elements() const;
  /// "[2,3]".
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  std::int32_t rank_ = 0;
};

/// Row-major strides, in elements.
Shape contiguous_strides(const Shape& shape);
/// Whether the elements are in row-major order without gaps; axes of size 1 do not matter.
bool is_contiguous(std::span<const std::int64_t> dims, std::span<const std::int64_t> strides);
/// numpy's broadcasting of two shapes; nullopt if they do not fit.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);
/// Maps [-rank, rank) to [0, rank); nullopt outside.
std::optional<int> normalise_axis(std::int64_t axis, int rank);
/// Maps all axes in this way, in their order; nullopt if one is outside.
std::optional<std::vector<std::int64_t>> normalise_axes(std::span<const std::int64_t> axes,
                                                        int rank);

}  // namespace scanloom::tensor
