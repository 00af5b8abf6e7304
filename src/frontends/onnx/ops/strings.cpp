// Operators on strings: StringConcat, StringSplit, StringNormalizer, RegexFullMatch, and the
// classic text models TfIdfVectorizer and LabelEncoder.
#include "frontends/onnx/ops/attribute_tensors.h"
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Shape;
using tensor::Tensor;

namespace {

Expected<Tensor> number_list(const std::vector<std::int64_t>& values) {
  return Tensor::copy_of(DType::i64, Shape{static_cast<std::int64_t>(values.size())},
                         values.data());
}

Expected<Tensor> text_scalar(const std::string& text) { return Tensor::of_strings({}, {{text}}); }

/// Returns one of the lists of LabelEncoder: <what>_strings, _int64s, _floats or _tensor.
Expected<Tensor> label_list(NodeCtx& ctx, const std::string& what) {
  if (ctx.has_attribute(what + "_tensor")) return tensor_attribute(ctx, what + "_tensor");
  if (ctx.has_attribute(what + "_strings")) return text_list(ctx, what + "_strings");
  if (ctx.has_attribute(what + "_int64s")) return integer_list(ctx, what + "_int64s");
  if (ctx.has_attribute(what + "_floats")) return real_list(ctx, what + "_floats");
  return invalid_model(
      "attributes '{}_strings', '{}_int64s', '{}_floats' and '{}_tensor' are all "
      "missing",
      what, what, what, what);
}

Expected<Tensor> default_label(NodeCtx& ctx, DType dtype) {
  SCANLOOM_TRY(const std::string text, ctx.text("default_string", "_Unused"));
  SCANLOOM_TRY(const std::int64_t integer, ctx.integer("default_int64", -1));
  SCANLOOM_TRY(const double real, ctx.real("default_float", -0.0));
  SCANLOOM_TRY(Tensor given, tensor_attribute(ctx, "default_tensor"));
  if (given.defined()) return given;
  if (dtype == DType::string) return text_scalar(text);
  if (dtype == DType::i64) return Tensor::scalar<std::int64_t>(integer);
  if (dtype == DType::f32) return Tensor::scalar<float>(static_cast<float>(real));
  if (dtype == DType::f64) return Tensor::scalar<double>(real);
  if (dtype == DType::i16) return Tensor::scalar<std::int16_t>(-1);
  return invalid_model("attribute 'default_tensor' is needed for labels of type {}",
                       dtype_onnx_name(dtype));
}

/// Version 1 maps strings to their positions in a list, and back.
Expected<void> convert_classes(NodeCtx& ctx, ValueId x) {
  SCANLOOM_TRY(Tensor classes, text_list(ctx, "classes_strings"));
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < classes.elements(); ++i) numbers.push_back(i);
  SCANLOOM_TRY(Tensor positions, number_list(numbers));
  const bool from_text = ctx.type(x).dtype == DType::string;
  SCANLOOM_TRY(Tensor fallback, default_label(ctx, from_text ? DType::i64 : DType::string));
  return ctx.emit(ops::label_encode_op, {x},
                  {{"keys", from_text ? classes : positions},
                   {"values", from_text ? std::move(positions) : std::move(classes)},
                   {"default", std::move(fallback)}});
}

}  // namespace

Expected<void> convert_string_concat(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId a, ctx.in(0));
  SCANLOOM_TRY(const ValueId b, ctx.in(1));
  return ctx.emit(ops::string_concat_op, {a, b});
}

Expected<void> convert_string_split(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(std::string delimiter, ctx.text("delimiter", ""));
  SCANLOOM_TRY(const std::int64_t most, ctx.integer("maxsplit", -1));
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(ops::string_split_op, {x},
                                  {{"delimiter", std::move(delimiter)}, {"most", most}}, 2));
  for (int i = 0; i < 2; ++i)
    ctx.set_output(i, ctx.module().node(node).outputs[static_cast<std::size_t>(i)]);
  return {};
}

Expected<void> convert_string_normalizer(NodeCtx& ctx) {
  ctx.ignore("locale");
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::string action, ctx.text("case_change_action", "NONE"));
  SCANLOOM_TRY(const std::int64_t sensitive, ctx.integer("is_case_sensitive", 0));
  SCANLOOM_TRY(Tensor stopwords, text_list(ctx, "stopwords"));
  const char* change = action == "NONE"    ? "none"
                       : action == "LOWER" ? "lower"
                       : action == "UPPER" ? "upper"
                                           : nullptr;
  if (change == nullptr)
    return invalid_model("attribute 'case_change_action' is '{}', but must be NONE, LOWER or UPPER",
                         action);
  return ctx.emit(
      ops::string_normalize_op, {x},
      {{"change", change}, {"sensitive", sensitive != 0}, {"stopwords", std::move(stopwords)}});
}

Expected<void> convert_regex_full_match(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(std::string pattern, ctx.text("pattern", ""));
  return ctx.emit(ops::regex_full_match_op, {x}, {{"pattern", std::move(pattern)}});
}

Expected<void> convert_tfidf_vectorizer(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  const bool texts = ctx.has_attribute("pool_strings");
  SCANLOOM_TRY(Tensor pool,
               texts ? text_list(ctx, "pool_strings") : integer_list(ctx, "pool_int64s"));
  SCANLOOM_TRY(std::vector<std::int64_t> starts, ctx.integers("ngram_counts"));
  SCANLOOM_TRY(std::vector<std::int64_t> columns, ctx.integers("ngram_indexes"));
  SCANLOOM_TRY(std::vector<double> weights, ctx.floats("weights"));
  SCANLOOM_TRY(const std::int64_t least, ctx.required_integer("min_gram_length"));
  SCANLOOM_TRY(const std::int64_t most, ctx.required_integer("max_gram_length"));
  SCANLOOM_TRY(const std::int64_t skips, ctx.required_integer("max_skip_count"));
  SCANLOOM_TRY(std::string mode, ctx.text("mode", ""));
  return ctx.emit(ops::tfidf_op, {x},
                  {{"pool", std::move(pool)},
                   {"starts", std::move(starts)},
                   {"columns", std::move(columns)},
                   {"weights", std::move(weights)},
                   {"least", least},
                   {"most", most},
                   {"skips", skips},
                   {"mode", std::move(mode)}});
}

Expected<void> convert_label_encoder(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  if (ctx.has_attribute("classes_strings")) return convert_classes(ctx, x);
  SCANLOOM_TRY(Tensor keys, label_list(ctx, "keys"));
  SCANLOOM_TRY(Tensor values, label_list(ctx, "values"));
  SCANLOOM_TRY(Tensor fallback, default_label(ctx, values.dtype()));
  return ctx.emit(
      ops::label_encode_op, {x},
      {{"keys", std::move(keys)}, {"values", std::move(values)}, {"default", std::move(fallback)}});
}

}  // namespace scanloom::onnx
