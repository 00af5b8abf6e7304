// Forms of operators on sequences, optionals and strings, and of table lookups.
#include <algorithm>

#include "exporters/onnx/forms.h"

namespace scanloom::exporters::onnx::forms {
namespace {

std::vector<std::string> texts_of(const tensor::Tensor& tensor) {
  std::vector<std::string> texts;
  for (const StringRef& each : tensor.as<StringRef>()) texts.emplace_back(each.view());
  return texts;
}

std::string in_capitals(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

/// Writes keys, strings or integers, as the attribute of their type.
std::string keys_attribute(const tensor::Tensor& keys, std::string_view strings,
                           std::string_view integers) {
  if (keys.dtype() == DType::string) return attribute(strings, texts_of(keys));
  return attribute(integers, tensor::to_integers(keys).value_or(std::vector<std::int64_t>()));
}

/// Appends a node that makes a row, [1, n], of a map, and gives its n elements.
void finish_row(NodeEmitter& node, std::string_view type, const Attributes& attributes) {
  node.graph().parts().use_machine_learning();
  const std::string row = node.fresh();
  node.emit(type, node.inputs(), {row}, attributes, "ai.onnx.ml");
  node.emit("Reshape", {row, node.list({-1})}, node.outputs());
}

}  // namespace

void map_gather(NodeEmitter& node) {
  const tensor::Tensor& keys = node.attr("keys").tensor();
  finish_row(node, "DictVectorizer",
             {keys_attribute(keys, "string_vocabulary", "int64_vocabulary")});
}

void map_values(NodeEmitter& node) {
  const tensor::Type& map = node.in_type(0);
  if (key_dtype(map.wraps.front()) != DType::i64 ||
      (map.dtype != DType::f32 && map.dtype != DType::string))
    return node.refuse("of other maps than from integers to f32 or strings");
  const std::string cast = map.dtype == DType::f32 ? "TO_FLOAT" : "TO_STRING";
  finish_row(node, "CastMap",
             {attribute("cast_to", cast), attribute("map_form", std::string("DENSE"))});
}

void zip_map(NodeEmitter& node) {
  if (node.dtype() != DType::f32) return node.refuse("of other values than f32");
  node.graph().parts().use_machine_learning();
  node.finish(
      "ZipMap",
      {keys_attribute(node.attr("keys").tensor(), "classlabels_strings", "classlabels_int64s")},
      "ai.onnx.ml");
}

void label_encode(NodeEmitter& node) {
  // Each list has one axis, even a single default.
  const auto list = [&](std::string_view name, std::string_view onnx_name) {
    const tensor::Tensor& values = node.attr(name).tensor();
    return attribute(onnx_name, values.reshaped({values.elements()}));
  };
  node.graph().parts().use_machine_learning();
  node.finish("LabelEncoder",
              {list("keys", "keys_tensor"), list("values", "values_tensor"),
               list("default", "default_tensor")},
              "ai.onnx.ml");
}

void optional_empty(NodeEmitter& node) {
  tensor::Type held = node.out_type();
  held.wraps.erase(held.wraps.begin());
  node.finish("Optional", {type_attribute("type", held)});
}

void sequence_construct(NodeEmitter& node) {
  if (!node.in_type(0).is_tensor()) return node.refuse("of items that are not tensors");
  node.finish("SequenceConstruct");
}

void string_format(NodeEmitter& node) {
  node.finish("Cast", {attribute("to", std::int64_t{dtype_onnx_number(DType::string)})});
}

void string_normalize(NodeEmitter& node) {
  Attributes attributes{attribute("case_change_action", in_capitals(node.attr("change").text())),
                        node.attribute_as("sensitive", "is_case_sensitive")};
  if (node.attr("stopwords").present())
    attributes.push_back(attribute("stopwords", texts_of(node.attr("stopwords").tensor())));
  node.finish("StringNormalizer", attributes);
}

void string_parse(NodeEmitter& node) { node.finish("Cast", {node.attribute_as("to", "to")}); }

void string_split(NodeEmitter& node) {
  Attributes attributes;
  if (!node.attr("delimiter").text().empty())
    attributes.push_back(node.attribute_as("delimiter", "delimiter"));
  if (node.attr("most").integer() >= 0) attributes.push_back(node.attribute_as("most", "maxsplit"));
  node.finish("StringSplit", attributes);
}

void tfidf(NodeEmitter& node) {
  const tensor::Tensor& pool = node.attr("pool").tensor();
  Attributes attributes{
      node.attribute_as("least", "min_gram_length"), node.attribute_as("most", "max_gram_length"),
      node.attribute_as("skips", "max_skip_count"),  node.attribute_as("mode", "mode"),
      node.attribute_as("starts", "ngram_counts"),   node.attribute_as("columns", "ngram_indexes")};
  if (pool.dtype() == DType::string)
    attributes.push_back(attribute("pool_strings", texts_of(pool)));
  else
    attributes.push_back(
        attribute("pool_int64s", tensor::to_integers(pool).value_or(std::vector<std::int64_t>())));
  if (!node.attr("weights").floats().empty())
    attributes.push_back(node.attribute_as("weights", "weights"));
  node.finish("TfIdfVectorizer", attributes);
}

}  // namespace scanloom::exporters::onnx::forms
