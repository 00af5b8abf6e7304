// InferCtx: the input and output of an operator's shape inference. It runs when loading, with
// symbolic sizes, and again when binding, with numbers; operators need only one rule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "tensor/attr.h"
#include "tensor/type.h"

namespace scanloom::ir {

/// Facts known about a value beyond its type: all of its elements, or (for integers of rank 0 and
/// 1) its elements as dim expressions. Sizes flow through Shape, Gather, Concat and Reshape so.
struct Known {
  std::optional<tensor::Tensor> tensor;
  std::optional<std::vector<tensor::Dim>> integers;
};

/// The bit of input i in InferCtx::values_asked().
constexpr std::uint64_t value_bit(std::size_t i) {
  return std::uint64_t{1} << (i < 63 ? i : std::size_t{63});
}

class InferCtx {
 public:
  /// types[i] is null for an absent optional input; known[i] may be null.
  InferCtx(std::span<const tensor::Type* const> types, std::span<const Known* const> known,
           std::span<const tensor::Attr> attrs, std::size_t output_count, tensor::DimTable& dims);

  [[nodiscard]] int input_count() const { return static_cast<int>(types_.size()); }
  [[nodiscard]] int output_count() const { return static_cast<int>(outputs_.size()); }
  [[nodiscard]] bool has(int i) const { return i < input_count() && types_[at(i)] != nullptr; }
  /// Precondition: has(i).
  [[nodiscard]] const tensor::Type& in(int i) const { return *types_[at(i)]; }
  [[nodiscard]] DType dtype(int i = 0) const { return in(i).dtype; }
  [[nodiscard]] const tensor::Attr& attr(int i) const { return attrs_[at(i)]; }
  [[nodiscard]] std::span<const tensor::Attr> attrs() const { return attrs_; }
  [[nodiscard]] tensor::DimTable& dims() { return dims_; }
  /// The inputs whose values the operator has requested, known or not: bit i for input i, the last
  /// bit for all further ones. For the other inputs only the types mattered.
  [[nodiscard]] std::uint64_t values_asked() const { return values_asked_; }

  /// The whole value of input i if it is known; nullptr otherwise.
  [[nodiscard]] const tensor::Tensor* constant(int i) const;
  /// The elements of integer input i as dims if they are known; nullopt otherwise.
  [[nodiscard]] std::optional<std::vector<tensor::Dim>> integers(int i) const;
  /// Like integers(i), if all elements are numbers.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> numbers(int i) const;

  void set(int i, tensor::Type type) { outputs_[at(i)] = std::move(type); }
  void set(int i, DType dtype, std::vector<tensor::Dim> sizes) {
    set(i, tensor::Type::of(dtype, std::move(sizes)));
  }
  /// Sets the elements of the integer output i, for shapes computed from it.
  void set_integers(int i, std::vector<tensor::Dim> values) {
    output_integers_[at(i)] = std::move(values);
  }

  /// A type with `rank` fresh sizes.
  [[nodiscard]] tensor::Type fresh(DType dtype, int rank);
  /// numpy's broadcasting of two types; unranked if either is. Error: sizes that cannot fit.
  Expected<tensor::Type> broadcast(const tensor::Type& a, const tensor::Type& b, DType dtype);
  /// The axis in [0, rank); the error gives both numbers.
  Expected<int> axis(std::int64_t axis, int rank) const;

  [[nodiscard]] std::vector<tensor::Type>& outputs() { return outputs_; }
  [[nodiscard]] std::vector<std::optional<std::vector<tensor::Dim>>>& output_integers() {
    return output_integers_;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  /// Returns the facts known about input i, or nullptr.
  [[nodiscard]] const Known* ask(int i) const;

  std::span<const tensor::Type* const> types_;
  std::span<const Known* const> known_;
  std::span<const tensor::Attr> attrs_;
  tensor::DimTable& dims_;
  std::vector<tensor::Type> outputs_;
  std::vector<std::optional<std::vector<tensor::Dim>>> output_integers_;
  mutable std::uint64_t values_asked_ = 0;
};

}  // namespace scanloom::ir
