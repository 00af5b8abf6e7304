#include "json_text.h"

#include <cmath>

#include "element.h"

namespace scanloom::cli {
namespace {

nlohmann::ordered_json element_json(DType dtype, const std::byte* from) {
  if (is_floating_point(dtype)) return json_of(read_number(dtype, from));
  if (dtype == DType::boolean) return read_number(dtype, from) != 0;
  // A double cannot hold all 64-bit integers, but their text is exact.
  return nlohmann::ordered_json::parse(number_text(dtype, from));
}

}  // namespace

nlohmann::ordered_json json_of(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return number;
}

nlohmann::ordered_json json_of(const View& tensor) {
  auto values = nlohmann::ordered_json::array();
  if (tensor.kind != ValueKind::tensor) {
    if (tensor.kind == ValueKind::map)
      return {{"type", "map"},
              {"keys", json_of(tensor.items[0])["values"]},
              {"values", json_of(tensor.items[1])["values"]}};
    for (const View& item : tensor.items) values.push_back(json_of(item));
    const char* const type = tensor.kind == ValueKind::sequence ? "sequence" : "optional";
    return {{"type", type}, {"items", std::move(values)}};
  }
  nlohmann::ordered_json out = {{"type", numpy_name(tensor.dtype)}, {"shape", tensor.shape}};
  const std::int64_t count = count_elements(tensor.shape).value_or(0);
  if (tensor.dtype == DType::string) {
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(reinterpret_cast<const StringRef*>(element_at(tensor, i))->view());
    out["values"] = std::move(values);
    return out;
  }
  if (!is_number(tensor.dtype)) return out;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(element_json(tensor.dtype, element_at(tensor, i)));
  out["values"] = std::move(values);
  return out;
}

nlohmann::ordered_json json_of(const Error& error) {
  auto notes = nlohmann::ordered_json::array();
  for (const std::string& note : error.notes()) notes.push_back(note);
  return {{"code", code_name(error.code())}, {"text", error.text()}, {"notes", notes}};
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace scanloom::cli
