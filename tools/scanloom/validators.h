// Validators of option values. They refuse everything else, including NaN and values out of range,
// with a one-line message that shows the value and what is allowed.
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

namespace scanloom::cli {

/// Accepts an integer, in digits.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
/// Accepts a finite number above 0.
CLI::Validator positive();
/// Accepts a finite number, 0 or more.
CLI::Validator not_negative();
/// Accepts a number of bytes, optionally with a unit ("64KB" is 65536), and converts it to bytes.
CLI::Validator byte_count();

}  // namespace scanloom::cli
