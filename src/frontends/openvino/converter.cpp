#include "frontends/openvino/converter.h"

#include <array>
#include <map>
#include <string>

#include "base/ascii.h"
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
    for (const Converter& converter : kConverters)
      made.emplace(lowered(converter.type), &converter);
    return made;
  }();
  std::string name = lowered(type);
  if (name == "const") name = "constant";
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

std::span<const Converter> all_converters() { return kConverters; }

}  // namespace scanloom::openvino
