#include "tensor/call.h"

#include <string_view>

namespace scanloom::tensor {

Error to_error(const Fault& fault) {
  std::string text = fault.text;
  std::size_t from = 0;
  for (const std::int64_t number : {fault.first, fault.second}) {
    const std::size_t at = text.find("{}", from);
    if (at == std::string::npos) break;
    const std::string digits = std::to_string(number);
    text.replace(at, 2, digits);
    from = at + digits.size();
  }
  return Error(fault.code, std::move(text));
}

}  // namespace scanloom::tensor
