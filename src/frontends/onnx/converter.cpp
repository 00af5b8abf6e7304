#include "frontends/onnx/converter.h"

#include <algorithm>
#include <utility>

#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {
namespace {

template <int... kVersions>
constexpr int kSince[] = {kVersions...};

constexpr Converter kConverters[] = {
#define SCANLOOM_ONNX_OP(name, domain, convert, min_inputs, max_inputs, max_outputs, ...) \
  {#name, domain, convert_##convert, min_inputs, max_inputs, max_outputs, kSince<__VA_ARGS__>},
#include "frontends/onnx/list.inc"
#undef SCANLOOM_ONNX_OP
};

}  // namespace

int Converter::since(std::int64_t opset) const {
  int found = versions.front();
  for (const int version : versions)
    if (version <= opset) found = version;
  return found;
}

const Converter* find_converter(std::string_view domain, std::string_view op_type) {
  using Key = std::pair<std::string_view, std::string_view>;
  const auto key_of = [](const Converter& row) { return Key(row.op_type, row.domain); };
  const Key key(op_type, domain);
  const auto* const found = std::ranges::lower_bound(kConverters, key, {}, key_of);
  return found != std::end(kConverters) && key_of(*found) == key ? found : nullptr;
}

std::span<const Converter> all_converters() { return kConverters; }

}  // namespace scanloom::onnx
