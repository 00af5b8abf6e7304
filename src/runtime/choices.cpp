#include "runtime/choices.h"

#include <cstring>
#include <utility>

#include "plan/binding.h"

namespace scanloom::runtime {
namespace {

/// Of one call. A value that grows by a row per step has as many sizes as there are steps.
constexpr std::size_t kMostChoices = 256;
/// Words of one input's elements in a key: sizes, axes, beginnings and ends fit.
constexpr std::int64_t kMostValueWords = 32;

bool append_values(const tensor::Operand& operand, ChoiceKey& key) {
  constexpr std::int64_t kWord = sizeof(std::int64_t);
  const std::int64_t bytes =
      operand.elements() * static_cast<std::int64_t>(dtype_bytes(operand.dtype));
  const std::int64_t words = (bytes + kWord - 1) / kWord;
  if (!operand.contiguous || words > kMostValueWords) return false;
  const std::size_t at = key.size();
  key.resize(at + static_cast<std::size_t>(words), 0);
  if (bytes != 0)
    std::memcpy(key.data() + at, operand.data<const std::byte>(), static_cast<std::size_t>(bytes));
  return true;
}

}  // namespace

bool describe_inputs(std::span<const tensor::Operand> inputs, std::uint64_t values_read,
                     ChoiceKey& key) {
  key.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const tensor::Operand& operand = inputs[i];
    key.push_back(operand.present() ? operand.rank : -1);
    if (!operand.present()) continue;
    key.insert(key.end(), operand.dims, operand.dims + operand.rank);
    key.insert(key.end(), operand.strides, operand.strides + operand.rank);
    if ((values_read & plan::value_bit(i)) != 0 && !append_values(operand, key)) return false;
  }
  return true;
}

std::size_t Choices::Hash::operator()(const ChoiceKey& key) const {
  std::uint64_t hash = key.size();
  for (const std::int64_t word : key) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9E37'79B9'7F4A'7C15;
    hash ^= hash >> 32;
  }
  return hash;
}

Choice* Choices::find(const ChoiceKey& key) {
  const auto found = choices_.find(key);
  return found == choices_.end() ? nullptr : &found->second;
}

Choice& Choices::add(const ChoiceKey* key, Choice choice, std::int64_t& left) {
  // Any other goes: were it the oldest, sizes that come again in turn would never be found once
  // they are too many.
  if (key != nullptr && !choices_.empty() && (choices_.size() >= kMostChoices || left == 0)) {
    choices_.erase(choices_.begin());
    ++left;
  }
  if (key == nullptr || left == 0) return latest_ = std::move(choice);
  --left;
  return choices_.insert_or_assign(*key, std::move(choice)).first->second;
}

void Choices::clear(std::int64_t& left) {
  left += static_cast<std::int64_t>(choices_.size());
  choices_.clear();
}

}  // namespace scanloom::runtime
