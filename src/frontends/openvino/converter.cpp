#include "frontends/openvino/converter.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>

#include "frontends/openvino/ops/converters.h"

namespace scanloom::openvino {
namespace {

template <int... kVersions>
struct Versions {
  static constexpr std::array<int, sizeof...(kVersions)> kList = {kVersions...};
};

constexpr Converter kConverters[] = {
#define SCANLOOM_OPENVINO(type, function, min_inputs, max_inputs, ...) \
  Converter{#type, convert_##function, min_inputs, max_inputs, Versions<__VA_ARGS__>::kList},
#include "frontends/openvino/list.inc"
#undef SCANLOOM_OPENVINO
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return result;
}

}  // namespace

int Converter::since(int opset) const {
  int newest = 0;
  for (const int version : versions)
    if (version <= opset) newest = version;
  return newest;
}

const Converter* find_converter(std::string_view type) {
  static const std::map<std::string, const Converter*> by_name = [] {
    std::map<std::string, const Converter*> made;
    for (const Converter& converter : kConverters) made.emplace(lower(converter.type), &converter);
    return made;
  }();
  std::string name = lower(type);
  if (name == "const") name = "constant";
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

std::span<const Converter> all_converters() { return kConverters; }

}  // namespace scanloom::openvino
