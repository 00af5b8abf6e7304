#include "failure.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "plain_text.h"
#include "progress_line.h"

namespace scanloom::cli {

namespace {

struct Phrase {
  std::string_view library, own;
};

/// Library messages that mention its options, and their replacements. Matches whole phrases,
/// because a model may use the bare names.
constexpr Phrase kPhrases[] = {
    {"raise it with the option max_memory", "raise it with --max-memory"},
    {"raise it with the option max_steps", "raise it with --max-steps"},
    {"the step limit of 0 (max_steps)", "the step limit of 0 (--max-steps)"},
    {"the limit max_steps is", "the limit --max-steps is"},
    {"under the same name, or give its bytes as the option 'weights'", "under the same name"},
};

std::string with_own_options(std::string text) {
  for (const auto& [library, own] : kPhrases)
    for (std::size_t at = 0; (at = text.find(library, at)) != std::string::npos; at += own.size())
      text.replace(at, library.size(), own);
  return text;
}

}  // namespace

void fail(Code code, std::string text) { throw Failure(Error(code, std::move(text))); }

void warn(std::string_view text) {
  erase_line();
  std::cerr << "warning: " << plain_line(text) << '\n';
}

int report(const Error& error) {
  std::cout.flush();
  erase_line();
  std::cerr << "error: " << plain_text(with_own_options(error.message())) << '\n';
  switch (error.code()) {
    case Code::limit_reached:
    case Code::out_of_memory:
      return kLimit;
    case Code::cancelled:
      return kInterrupted;
    case Code::invalid_argument:
    case Code::invalid_model:
    case Code::unsupported:
    case Code::not_found:
    case Code::internal:
      break;
  }
  return kBad;
}

void guard_stdout() {
  // open() returns the lowest free descriptor: stdin's, if that is closed as well.
  while (fcntl(STDOUT_FILENO, F_GETFD) < 0)
    if (open("/dev/null", O_RDONLY) < 0) return;
}

int finish(int status) {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::cout.good() && std::ferror(stdout) == 0) return status;
  // The reason of an earlier failure is lost; writing one more byte reproduces it.
  if (errno == 0 && std::fputc('\n', stdout) != EOF) std::fflush(stdout);
  if (errno == EPIPE) return kPipeClosed;  // the reader has seen enough, as in `scanloom | head`
  const std::string why = errno == 0 ? "" : std::string(": ") + std::strerror(errno);
  report(Error(Code::invalid_argument, "cannot write the results" + why));
  return status == kFine || status == kDiffers ? kBad : status;
}

}  // namespace scanloom::cli
