// What calls whose sizes only the run knows came to: sizes of results and a kernel, kept by what
// decided them, so that sizes which come again (of a step in the next step, of a growing value in
// the next run) cost a look into a table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "tensor/call.h"
#include "tensor/shape.h"

namespace scanloom::runtime {

/// Sizes and strides of a call's inputs, and the elements of those whose values decide sizes too.
using ChoiceKey = std::vector<std::int64_t>;

/// Sets `key`. `values_read`: inputs whose elements belong to it, bits as of plan::value_bit. False
/// where these are too many to be worth it.
bool describe_inputs(std::span<const tensor::Operand> inputs, std::uint64_t values_read,
                     ChoiceKey& key);

struct Choice {
  std::vector<tensor::Shape> results;
  std::int64_t uses = 0;
  bool has_kernel = false;  ///< or it is known that none takes these operands
  tensor::KernelFn run = nullptr;
  std::shared_ptr<const void> prepared;
  std::int64_t scratch_bytes = 0;
};

/// Those of one call. There are only so many, and so many of all calls together.
class Choices {
 public:
  /// nullptr: none is kept. Valid until the next add() or clear().
  Choice* find(const ChoiceKey& key);
  /// To be found by that key; null: not at all. `left`: how many more all calls together may keep.
  Choice& add(const ChoiceKey* key, Choice choice, std::int64_t& left);
  void clear(std::int64_t& left);

 private:
  struct Hash {
    std::size_t operator()(const ChoiceKey& key) const;
  };
  std::unordered_map<ChoiceKey, Choice, Hash> choices_;
  Choice latest_;  ///< if it is not among them
};

}  // namespace scanloom::runtime
