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
/// status that belongs to it. Options of the library are named as the command line has them.
int report(const Error& error);

/// Makes sure that writing to stdout fails where it is closed, instead of going to the next file
/// that is opened. To be called before anything is.
void guard_stdout();

/// The exit status of a program that ends with `status`: kBad, with an error on stderr, when what
/// it printed has not arrived on stdout.
int finish(int status);

}  // namespace scanloom::cli
