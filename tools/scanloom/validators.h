// What the values of options may be. Each refuses everything else, not-a-numbers and values that do
// not fit included, with the value and what is allowed in a message of one line.
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

namespace scanloom::cli {

/// An integer, in digits.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
/// A finite number above 0.
CLI::Validator positive();
/// A finite number, 0 or more.
CLI::Validator not_negative();
/// A number of bytes with or without a unit ("64KB" are 65536); the option gets it in bytes.
CLI::Validator byte_count();

}  // namespace scanloom::cli
