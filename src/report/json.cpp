#include "report/json.h"

namespace scanloom::report {

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string without_markup(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size() + json.size() / 64);
  // In JSON these three occur only within strings, where the escape means the same.
  for (const char c : json) switch (c) {
      case '<':
        escaped += "\\u003c";
        break;
      case '>':
        escaped += "\\u003e";
        break;
      case '&':
        escaped += "\\u0026";
        break;
      default:
        escaped += c;
    }
  return escaped;
}

}  // namespace scanloom::report
