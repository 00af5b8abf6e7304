// Shared by the operators on strings: walking elements, and building tensors of strings.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/object_call.h"

namespace scanloom::ops {

/// Collects the elements of a new string tensor and charges them to the memory budget.
class TextMaker {
 public:
  explicit TextMaker(const tensor::ObjectCall& call) : call_(call) {}

  /// Adds the concatenation of the parts. Error: the memory budget, checked before it is built.
  Expected<void> add(std::initializer_list<std::string_view> parts);
  Expected<void> add(std::string_view text) { return add({text}); }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(texts_.size()); }
  /// Sets output i to what was added, in order. Precondition: as many as the shape has elements.
  Expected<void> give(std::size_t i, const tensor::Shape& shape);

 private:
  const tensor::ObjectCall& call_;
  std::vector<std::string> texts_;
  std::int64_t bytes_ = 0, checked_ = 0;
};

/// Returns the shape that two operands broadcast to. Error: they do not; it does not name the node.
Expected<tensor::Shape> broadcast_shape(const tensor::Shape& a, const tensor::Shape& b);

}  // namespace scanloom::ops
