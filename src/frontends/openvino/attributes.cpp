#include "frontends/openvino/attributes.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/ascii.h"
#include "base/utf8.h"
#include "frontends/openvino/types.h"

namespace scanloom::openvino {
namespace {

std::string shown_value(std::string_view text) { return shortened(to_valid_utf8(text), 100); }

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  text = trimmed(text);
  if (text.empty()) return parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

Expected<std::int64_t> integer_of(std::string_view name, std::string_view text) {
  const std::string_view digits = trimmed(text);
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error == std::errc() && stop == end && !digits.empty()) return value;
  // Unbounded sizes are written as the largest unsigned 64-bit number.
  std::uint64_t large = 0;
  const auto [large_stop, large_error] = std::from_chars(digits.data(), end, large);
  if (large_error == std::errc() && large_stop == end && !digits.empty())
    return std::numeric_limits<std::int64_t>::max();
  if (large_error == std::errc::result_out_of_range)
    return invalid_model("attribute '{}' is {}, which needs more than 64 bits", name,
                         shown_value(digits));
  return invalid_model("attribute '{}' is '{}', but an integer is needed", name, shown_value(text));
}

Expected<double> real_of(std::string_view name, std::string_view text) {
  std::string digits = lowered(trimmed(text));
  if (digits.starts_with('+')) digits.erase(0, 1);
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error == std::errc() && stop == end && !digits.empty()) return value;
  return invalid_model("attribute '{}' is '{}', but a number is needed", name, shown_value(text));
}

}  // namespace

const std::string* Attributes::find(std::string_view name) const {
  for (const auto& [own, value] : layer_->data)
    if (own == name) return &value;
  return nullptr;
}

Expected<std::string_view> Attributes::required(std::string_view name) const {
  const std::string* const found = find(name);
  if (found == nullptr) return invalid_model("attribute '{}' is missing", name);
  return std::string_view(*found);
}

Expected<std::int64_t> Attributes::integer(std::string_view name) const {
  SCANLOOM_TRY(const std::string_view text, required(name));
  return integer_of(name, text);
}

Expected<std::int64_t> Attributes::integer(std::string_view name, std::int64_t fallback) const {
  const std::string* const found = find(name);
  return found == nullptr ? Expected<std::int64_t>(fallback) : integer_of(name, *found);
}

Expected<std::uint64_t> Attributes::byte_count(std::string_view name) const {
  SCANLOOM_TRY(const std::string_view text, required(name));
  const std::string_view digits = trimmed(text);
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error == std::errc() && stop == end) return value;
  SCANLOOM_TRY(const std::int64_t integer, integer_of(name, text));
  return invalid_model("attribute '{}' is {}, but a number of bytes must be at least 0", name,
                       integer);
}

Expected<double> Attributes::real(std::string_view name) const {
  SCANLOOM_TRY(const std::string_view text, required(name));
  return real_of(name, text);
}

Expected<double> Attributes::real(std::string_view name, double fallback) const {
  const std::string* const found = find(name);
  return found == nullptr ? Expected<double>(fallback) : real_of(name, *found);
}

Expected<bool> Attributes::boolean(std::string_view name, bool fallback) const {
  const std::string* const found = find(name);
  if (found == nullptr) return fallback;
  const std::string word = lowered(trimmed(*found));
  if (word == "true" || word == "1") return true;
  if (word == "false" || word == "0") return false;
  return invalid_model("attribute '{}' is '{}', neither true nor false", name, shown_value(*found));
}

std::string Attributes::text(std::string_view name, std::string_view fallback) const {
  const std::string* const found = find(name);
  return found == nullptr ? std::string(fallback) : *found;
}

Expected<std::string> Attributes::choice(std::string_view name, std::string_view fallback,
                                         std::initializer_list<std::string_view> choices) const {
  const std::string* const found = find(name);
  if (found == nullptr) return std::string(fallback);
  std::string word = lowered(trimmed(*found));
  if (std::ranges::find(choices, word) != choices.end()) return word;
  std::string all;
  for (const std::string_view one : choices)
    all += fmt::format("{}{}", all.empty() ? "" : ", ", one);
  return invalid_model("attribute '{}' is '{}', but must be one of {}", name, shown_value(*found),
                       all);
}

Expected<std::vector<std::int64_t>> Attributes::integers(std::string_view name) const {
  std::vector<std::int64_t> values;
  const std::string* const found = find(name);
  if (found == nullptr) return values;
  for (const std::string_view part : parts_of(*found)) {
    SCANLOOM_TRY(const std::int64_t value, integer_of(name, part));
    values.push_back(value);
  }
  return values;
}

Expected<std::vector<double>> Attributes::floats(std::string_view name) const {
  std::vector<double> values;
  const std::string* const found = find(name);
  if (found == nullptr) return values;
  for (const std::string_view part : parts_of(*found)) {
    SCANLOOM_TRY(const double value, real_of(name, part));
    values.push_back(value);
  }
  return values;
}

std::vector<std::string> Attributes::texts(std::string_view name) const {
  std::vector<std::string> values;
  if (const std::string* const found = find(name))
    for (const std::string_view part : parts_of(*found)) values.emplace_back(part);
  return values;
}

Expected<DType> Attributes::dtype(std::string_view name) const {
  SCANLOOM_TRY(const std::string_view text, required(name));
  Expected<DType> dtype = dtype_of(trimmed(text));
  if (!dtype) return std::move(dtype).error().at(fmt::format("attribute '{}'", name));
  return dtype;
}

Expected<DType> Attributes::dtype(std::string_view name, DType fallback) const {
  return has(name) ? dtype(name) : Expected<DType>(fallback);
}

}  // namespace scanloom::openvino
