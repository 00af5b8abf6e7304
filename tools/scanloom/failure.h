// Errors of the command line: thrown as scanloom::Failure, caught in main() alone, and turned into
// the exit statuses that every command shares.
#pragma once

#include <string>

#include <scanloom/expected.h>

namespace scanloom::cli {

inline constexpr int kFine = 0;
inline constexpr int kDiffers = 1;  ///< results differ, or a check failed
inline constexpr int kBad = 2;      ///< bad model, input or use
inline constexpr int kLimit = 3;
inline constexpr int kInterrupted = 130;

[[noreturn]] void fail(Code code, std::string text);

/// Prints "error: ..." with its notes, without control characters, to stderr; returns the exit
/// status that belongs to it.
int report(const Error& error);

}  // namespace scanloom::cli
