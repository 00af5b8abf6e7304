#include "fed_number.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "element.h"
#include "failure.h"
#include "parse_number.h"

namespace scanloom::cli {
namespace {

/// Doubles represent every integer up to this exactly.
constexpr double kExact = 0x1p53;

struct Range {
  std::int64_t least = 0;
  std::uint64_t most = 1;
};

/// Returns the range of an integer or boolean type; types under one byte have that of their bits.
Range range_of(DType dtype) {
  if (dtype == DType::boolean) return {};
  const int bits = dtype_file_bits(dtype);
  if (dtype_kind(dtype) == DTypeKind::unsigned_int)
    return {0, std::numeric_limits<std::uint64_t>::max() >> (64 - bits)};
  return {std::numeric_limits<std::int64_t>::min() >> (64 - bits),
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) >> (64 - bits)};
}

[[noreturn]] void refuse(const ValueInfo& input, std::string_view text, const std::string& needed) {
  fail(Code::invalid_argument, "--feed: " + std::string(text) + " for input '" + input.name +
                                   "' is not " + needed + ", as " + numpy_name(input.dtype) +
                                   " needs");
}

/// Parses any number, rounded; infinite or zero if a double cannot represent it.
std::optional<double> any_number(std::string_view text) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size() || problem == std::errc::invalid_argument)
    return std::nullopt;
  if (problem == std::errc::result_out_of_range) return std::strtod(std::string(text).c_str(), {});
  return number;
}

/// Parses an integer within the range, also one like "1e3"; returns its two's complement.
std::optional<std::uint64_t> integer_bits(std::string_view text, const Range& range) {
  if (const auto integer = parse_number<std::int64_t>(text)) {
    const bool fits =
        *integer < 0 ? *integer >= range.least : static_cast<std::uint64_t>(*integer) <= range.most;
    return fits ? std::optional(static_cast<std::uint64_t>(*integer)) : std::nullopt;
  }
  if (const auto integer = parse_number<std::uint64_t>(text))
    return *integer <= range.most ? integer : std::nullopt;
  const double number = any_number(text).value_or(std::nan(""));
  if (!(std::fabs(number) <= kExact) || number != std::trunc(number)) return std::nullopt;
  return integer_bits(std::to_string(static_cast<std::int64_t>(number)), range);
}

double largest(DType dtype) {
  if (dtype == DType::f16) return 65504;
  if (dtype == DType::bf16) return 0x1.fep127;
  if (dtype == DType::f32) return std::numeric_limits<float>::max();
  return std::numeric_limits<double>::max();
}

/// Splits a complex number in Python's notation ("1", "2j", "1-2j" or "(1-2j)") into the texts of
/// its parts. Other texts yield parts that are not numbers.
std::pair<std::string_view, std::string_view> parts_of(std::string_view text) {
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  if (!text.ends_with('j') && !text.ends_with('J')) return {text, "0"};
  text.remove_suffix(1);
  std::size_t at = text.find_last_of("+-");  // the sign of the imaginary part
  while (at != std::string_view::npos && at > 0 && (text[at - 1] == 'e' || text[at - 1] == 'E'))
    at = text.find_last_of("+-", at - 1);
  if (at == std::string_view::npos || at == 0) return {"0", text};
  return {text.substr(0, at), text.substr(text[at] == '+' ? at + 1 : at)};
}

std::optional<ElementBytes> fed_complex(const ValueInfo& input, std::string_view text) {
  ValueInfo part = input;
  part.dtype = input.dtype == DType::c64 ? DType::f32 : DType::f64;
  const auto [real, imaginary] = parts_of(text);
  const auto first = fed_number(part, real), second = fed_number(part, imaginary);
  if (!first || !second) return std::nullopt;
  ElementBytes bytes = *first;
  const std::size_t width = dtype_bytes(part.dtype);
  std::memcpy(bytes.data() + width, second->data(), width);
  return bytes;
}

}  // namespace

bool is_fed_as_number(DType dtype) {
  return is_number(dtype) || dtype_kind(dtype) == DTypeKind::complex;
}

std::optional<ElementBytes> fed_number(const ValueInfo& input, std::string_view text) {
  if (dtype_kind(input.dtype) == DTypeKind::complex) return fed_complex(input, text);
  if (input.dtype == DType::boolean) {
    if (text == "true" || text == "True") text = "1";
    if (text == "false" || text == "False") text = "0";
  }
  const auto number = any_number(text);
  if (!number) return std::nullopt;
  ElementBytes bytes = {};
  if (!is_floating_point(input.dtype)) {
    const Range range = range_of(input.dtype);
    const auto bits = integer_bits(text, range);
    if (!bits)
      refuse(
          input, text,
          "an integer from " + std::to_string(range.least) + " to " + std::to_string(range.most));
    std::memcpy(bytes.data(), &*bits, sizeof *bits);  // the low bytes: little-endian
    return bytes;
  }
  write_number(input.dtype, *number, bytes.data());
  const bool written_so = text.find_first_of("iI") != std::string_view::npos;
  if (std::isinf(read_number(input.dtype, bytes.data())) && !written_so) {
    char range[80];
    std::snprintf(range, sizeof range, "a number from -%.6g to %.6g", largest(input.dtype),
                  largest(input.dtype));
    refuse(input, text, range);
  }
  return bytes;
}

}  // namespace scanloom::cli
