#include "failure.h"

#include <iostream>

namespace scanloom::cli {

void fail(Code code, std::string text) { throw Failure(Error(code, std::move(text))); }

int report(const Error& error) {
  std::cout.flush();
  std::string text = error.message();
  // Names come from files that may be hostile to terminals.
  for (char& byte : text)
    if ((byte >= 0 && byte < ' ' && byte != '\n') || byte == '\x7f') byte = '?';
  std::cerr << "error: " << text << '\n';
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

}  // namespace scanloom::cli
