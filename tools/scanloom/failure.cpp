#include "failure.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

#include "plain_text.h"

namespace scanloom::cli {

void fail(Code code, std::string text) { throw Failure(Error(code, std::move(text))); }

int report(const Error& error) {
  std::cout.flush();
  std::cerr << "error: " << plain_text(error.message()) << '\n';
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
  // The lowest number that is free is taken: stdin's, when that is closed as well.
  while (fcntl(STDOUT_FILENO, F_GETFD) < 0)
    if (open("/dev/null", O_RDONLY) < 0) return;
}

int finish(int status) {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::cout.good() && std::ferror(stdout) == 0) return status;
  // Where an earlier write failed its reason is gone: one more byte brings it back.
  if (errno == 0 && std::fputc('\n', stdout) != EOF) std::fflush(stdout);
  const std::string why = errno == 0 ? "" : std::string(": ") + std::strerror(errno);
  report(Error(Code::invalid_argument, "cannot write the results" + why));
  return status == kFine || status == kDiffers ? kBad : status;
}

}  // namespace scanloom::cli
