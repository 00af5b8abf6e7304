#include "tensor/call.h"

#include <string_view>

#include <fmt/format.h>

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
  constexpr std::string_view kValue = "{value}";
  const std::size_t at = text.find(kValue);
  if (at != std::string::npos) text.replace(at, kValue.size(), fmt::format("{}", fault.value));
  return Error(fault.code, std::move(text));
}

}  // namespace scanloom::tensor
