// Errors of the command line: thrown as scanloom::Failure, caught only in main(), and turned into
// the exit statuses that all commands share.
#pragma once

#include <string>
#include <string_view>

#include <scanloom/expected.h>

namespace scanloom::cli {

inline constexpr int kFine = 0;
inline constexpr int kDiffers = 1;  ///< results differ, or a check failed
inline constexpr int kBad = 2;      ///< bad model, input or usage
inline constexpr int kLimit = 3;
inline constexpr int kInterrupted = 130;
inline constexpr int kPipeClosed = 141;  ///< as a shell calls the end by SIGPIPE

[[noreturn]] void fail(Code code, std::string text);

/// Prints "warning: ..." to stderr, as one line without control characters.
void warn(std::string_view text);

/// Prints "error: ..." with its notes to stderr, without control characters, and returns the exit
/// status for it. Options of the library are shown under their command-line names.
int report(const Error& error);

/// Ensures that writing to a closed stdout fails, instead of writing to the next file that is
/// opened. Call it before opening any file.
void guard_stdout();

/// Flushes stdout and returns the exit status for `status`: kBad, with an error on stderr, if the
/// output could not be written; kPipeClosed, without one, if nobody reads it.
int finish(int status);

}  // namespace scanloom::cli
