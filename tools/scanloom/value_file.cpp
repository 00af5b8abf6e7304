#include "value_file.h"

#include <protozero/pbf_reader.hpp>

#include "element.h"
#include "failure.h"
#include "npy.h"
#include "tensor_file.h"

namespace scanloom::cli {
namespace {

// Fields of SequenceProto and OptionalProto, whose values have the same numbers.
enum Field : protozero::pbf_tag_type {
  kTensor = 3,
  kSparse = 4,
  kSequence = 5,
  kMap = 6,
  kOptional = 7,
};

constexpr int kMostLevels = 16;

View parse_boxed(std::string_view bytes, ValueKind kind, DType dtype, int level) {
  if (level > kMostLevels)
    fail(Code::invalid_argument, "it is nested more than " + std::to_string(kMostLevels) + " deep");
  std::vector<View> items;
  protozero::pbf_reader reader(bytes.data(), bytes.size());
  while (reader.next()) {
    const auto inside = [&] {
      const protozero::data_view view = reader.get_view();
      return std::string_view(view.data(), view.size());
    };
    switch (reader.tag()) {
      case kTensor:
        items.push_back(parse_tensor(inside()));
        break;
      case kSequence:
        items.push_back(parse_boxed(inside(), ValueKind::sequence, dtype, level + 1));
        break;
      case kOptional:
        items.push_back(parse_boxed(inside(), ValueKind::optional, dtype, level + 1));
        break;
      case kSparse:
      case kMap:
        fail(Code::unsupported, "it holds a map or a sparse tensor");
      default:
        reader.skip();
    }
  }
  View view = sequence(std::move(items), dtype);
  view.kind = kind;
  return view;
}

}  // namespace

View read_value_file(const std::string& path, const ValueInfo& info) {
  if (info.kind == ValueKind::tensor) return read_tensor_file(path).value;
  const std::string content = read_file(path);
  try {
    return parse_boxed(content, info.kind, info.dtype, 0);
  } catch (const protozero::exception&) {
    fail(Code::invalid_argument, path + ": it holds no " + info.type);
  } catch (const Failure& failure) {
    throw Failure(Error(failure.error()).at(path));
  }
}

std::string value_text(const View& view) {
  if (view.kind == ValueKind::tensor) return type_text(view.dtype, view.shape);
  if (view.kind == ValueKind::sequence) return "sequence of " + std::to_string(view.items.size());
  return view.items.empty() ? "nothing" : "optional of " + value_text(view.items[0]);
}

}  // namespace scanloom::cli
