// Shared by the operators on strings: walking elements, and building tensors of strings.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "tensor/object_call.h"

namespace scanloom::ops {

/// Makes a new tensor of strings directly in the memory that the result keeps, after checking that
/// it fits into the memory budget: texts exist once. Call reserve() first, then add() for each
/// element, then give().
class TextMaker {
 public:
  explicit TextMaker(const tensor::ObjectCall& call) : call_(call) {}

  /// Allocates memory for up to `strings` elements, with texts of `bytes` in all. Texts that exceed
  /// `bytes` go to further blocks, of up to an eighth of the present texts. Errors: limit_reached,
  /// out_of_memory.
  Expected<void> reserve(std::int64_t strings, std::int64_t bytes);
  /// Adds the concatenation of the parts. Precondition: an element is left. Errors: those of
  /// reserve().
  Expected<void> add(std::initializer_list<std::string_view> parts);
  Expected<void> add(std::string_view text) { return add({text}); }
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Sets output i to what was added, in order. Precondition: as many as the shape has elements.
  Expected<void> give(std::size_t i, const tensor::Shape& shape);

 private:
  using Blocks = std::vector<std::shared_ptr<const void>>;

  Expected<void> begin_block(std::int64_t bytes);

  const tensor::ObjectCall& call_;
  tensor::Tensor first_;  ///< memory of the elements and the first texts
  Blocks more_;           ///< of further texts
  StringRef* elements_ = nullptr;
  char* next_ = nullptr;  ///< where the next text goes
  std::int64_t strings_ = 0, count_ = 0;
  std::int64_t left_ = 0;   ///< bytes after next_ in its block
  std::int64_t texts_ = 0;  ///< bytes of all texts so far
  std::int64_t taken_ = 0;  ///< bytes of all blocks
};

/// Returns the shape that two operands broadcast to. Error: they do not; it does not name the node.
Expected<tensor::Shape> broadcast_shape(const tensor::Shape& a, const tensor::Shape& b);

}  // namespace scanloom::ops
