// Features before a model: OneHotEncoder, CategoryMapper, FeatureVectorizer, and the operators on
// maps, CastMap, DictVectorizer and ZipMap.
#include <algorithm>
#include <map>
#include <numeric>

#include "frontends/onnx/ops/attribute_tensors.h"
#include "frontends/onnx/ops/class_labels.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Shape;
using tensor::Tensor;

namespace {

using Ints = std::vector<std::int64_t>;

Expected<Tensor> counted_to(std::int64_t count) {
  Ints numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  return Tensor::copy_of(DType::i64, Shape{count}, numbers.data());
}

/// Returns the position of each element of x among the keys; `missing` if it is none of them.
Expected<ValueId> positions_in(NodeCtx& ctx, ValueId x, Tensor keys, std::int64_t missing) {
  SCANLOOM_TRY(Tensor values, counted_to(keys.elements()));
  return ctx.op(ops::label_encode_op, {x},
                {{"keys", std::move(keys)},
                 {"values", std::move(values)},
                 {"default", Tensor::scalar<std::int64_t>(missing)}});
}

/// Returns input 0, a map. Error: it is none.
Expected<ValueId> map_operand(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  const tensor::Type& type = ctx.type(x);
  if (type.is_tensor() || !is_map(type.wraps.front()))
    return invalid_model("{} is not a map", ctx.describe_input(0));
  return x;
}

/// Casts the numbers or strings of a map.
Expected<ValueId> cast_values(NodeCtx& ctx, ValueId values, DType to) {
  const DType from = ctx.type(values).dtype;
  if (from == to) return values;
  if (to == DType::string) return ctx.op(ops::string_format_op, {values});
  if (from == DType::string) return ctx.op(ops::string_parse_op, {values}, {{"to", to}});
  return ctx.cast(values, to);
}

/// The most values that a sparse map may be spread over.
constexpr std::int64_t kMaxSparse = std::int64_t{1} << 24;

/// Returns the values of a map whose keys count from 0: those present, or those of all numbers
/// below max_map, where the others are 0 or empty.
Expected<ValueId> spread_values(NodeCtx& ctx, ValueId map) {
  SCANLOOM_TRY(const std::string form, ctx.text("map_form", "DENSE"));
  SCANLOOM_TRY(const std::int64_t size, ctx.integer("max_map", 1));
  if (form == "DENSE") return ctx.op(ops::map_values_op, {map});
  if (form != "SPARSE")
    return invalid_model("attribute 'map_form' is '{}', but must be DENSE or SPARSE", form);
  if (size < 1) return invalid_model("attribute 'max_map' is {}, but must be at least 1", size);
  if (size > kMaxSparse)
    return fail(Code::unsupported, "attribute 'max_map' is {}, but at most {} is possible", size,
                kMaxSparse);
  SCANLOOM_TRY(Tensor keys, counted_to(size));
  return ctx.op(ops::map_gather_op, {map}, {{"keys", std::move(keys)}});
}

/// The order in which ZipMap's keys ascend; of equal keys only the last counts.
template <class Key>
Ints ascending(const std::vector<Key>& keys) {
  std::map<Key, std::int64_t> last;
  for (std::size_t i = 0; i < keys.size(); ++i) last[keys[i]] = static_cast<std::int64_t>(i);
  Ints order;
  for (const auto& [key, position] : last) order.push_back(position);
  return order;
}

}  // namespace

Expected<void> convert_one_hot_encoder(NodeCtx& ctx) {
  SCANLOOM_TRY(ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ClassLabels given, read_labels(ctx, "cats_strings", "cats_int64s"));
  SCANLOOM_TRY(const std::int64_t zeros, ctx.integer("zeros", 1));
  const bool texts = ctx.type(x).dtype == DType::string;
  if (texts != given.are_texts())
    return invalid_model("{} is {}, but the categories are {}", ctx.describe_input(0),
                         dtype_onnx_name(ctx.type(x).dtype),
                         given.are_texts() ? "strings" : "integers");
  SCANLOOM_TRY(Tensor categories,
               texts ? text_list(ctx, "cats_strings") : integer_list(ctx, "cats_int64s"));
  const std::int64_t count = categories.elements();
  if (!texts) {
    SCANLOOM_TRY(x, ctx.cast(x, DType::i64));
  }
  SCANLOOM_TRY(ValueId index, positions_in(ctx, x, std::move(categories), zeros != 0 ? -1 : count));
  Composer c(ctx);
  const int rank = c.rank(0, index, 0);
  // Without zeros, an unknown category is an index outside of the list, which fails.
  if (zeros == 0) index = c.gather(c.count_up(c.number(count)), index, 0);
  const ValueId hot = c.equal(c.unsqueeze(index, {rank}), c.count_up(c.number(count)));
  return c.emit(c.cast(hot, DType::f32));
}

Expected<void> convert_category_mapper(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(Tensor texts, text_list(ctx, "cats_strings"));
  SCANLOOM_TRY(Tensor integers, integer_list(ctx, "cats_int64s"));
  SCANLOOM_TRY(const std::string text, ctx.text("default_string", "_Unused"));
  SCANLOOM_TRY(const std::int64_t integer, ctx.integer("default_int64", -1));
  SCANLOOM_CHECK_OK(check_entries("cats_int64s", static_cast<std::size_t>(integers.elements()),
                                  static_cast<std::size_t>(texts.elements())));
  const bool from_text = ctx.type(x).dtype == DType::string;
  SCANLOOM_TRY(Tensor fallback, from_text ? Expected<Tensor>(Tensor::scalar<std::int64_t>(integer))
                                          : Tensor::of_strings({}, {{text}}));
  return ctx.emit(ops::label_encode_op, {x},
                  {{"keys", from_text ? texts : integers},
                   {"values", from_text ? integers : texts},
                   {"default", std::move(fallback)}});
}

// Each input is cut off or filled up with zeros to its number of features.
Expected<void> convert_feature_vectorizer(NodeCtx& ctx) {
  SCANLOOM_TRY(const Ints sizes, ctx.integers("inputdimensions"));
  SCANLOOM_CHECK_OK(
      check_entries("inputdimensions", sizes.size(), static_cast<std::size_t>(ctx.input_count())));
  Composer c(ctx);
  std::vector<ValueId> parts;
  for (int i = 0; i < ctx.input_count(); ++i) {
    const std::int64_t size = sizes[static_cast<std::size_t>(i)];
    if (size < 1 || size > std::numeric_limits<std::int32_t>::max())
      return invalid_model("attribute 'inputdimensions' has {}", size);
    ValueId x = c.cast(c.in(i), DType::f32);
    const int rank = c.rank(i, x, 1);
    if (!c.ok()) return c.done();
    if (rank == 1) x = c.unsqueeze(x, {0});
    if (rank > 2) x = c.op(ops::flatten_op, {x}, {{"axis", 1}});
    const std::int64_t known = c.known_size(x, 1);
    if (known != size) {
      const ValueId zeros =
          c.expand(c.scalar(0, DType::f32), c.join({c.dim(x, 0), c.list({size})}));
      x = c.slice(c.concat({x, zeros}, 1), 1, 0, size);
    }
    parts.push_back(x);
  }
  return c.emit(c.concat(parts, 1));
}

Expected<void> convert_cast_map(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId map, map_operand(ctx));
  if (ctx.type(map).wraps.front() != tensor::Wrap::map_i64)
    return invalid_model("{} has keys of strings, but integers are needed", ctx.describe_input(0));
  SCANLOOM_TRY(const std::string to, ctx.text("cast_to", "TO_FLOAT"));
  if (to != "TO_FLOAT" && to != "TO_STRING" && to != "TO_INT64")
    return invalid_model("attribute 'cast_to' is '{}', but must be TO_FLOAT, TO_STRING or TO_INT64",
                         to);
  SCANLOOM_TRY(ValueId values, spread_values(ctx, map));
  SCANLOOM_TRY(values, cast_values(ctx, values,
                                   to == "TO_FLOAT"    ? DType::f32
                                   : to == "TO_STRING" ? DType::string
                                                       : DType::i64));
  return ctx.emit(ops::unsqueeze_op, {values}, {{"axes", Ints{0}}});
}

Expected<void> convert_dict_vectorizer(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId map, map_operand(ctx));
  SCANLOOM_TRY(const ClassLabels names, read_labels(ctx, "string_vocabulary", "int64_vocabulary"));
  if (names.are_texts() != (ctx.type(map).wraps.front() == tensor::Wrap::map_string))
    return invalid_model("{} has keys of another type than the vocabulary", ctx.describe_input(0));
  SCANLOOM_TRY(Tensor keys, names.are_texts() ? text_list(ctx, "string_vocabulary")
                                              : integer_list(ctx, "int64_vocabulary"));
  SCANLOOM_TRY(const ValueId values,
               ctx.op(ops::map_gather_op, {map}, {{"keys", std::move(keys)}}));
  return ctx.emit(ops::unsqueeze_op, {values}, {{"axes", Ints{0}}});
}

Expected<void> convert_zip_map(NodeCtx& ctx) {
  SCANLOOM_TRY(const ClassLabels names,
               read_labels(ctx, "classlabels_strings", "classlabels_int64s"));
  Composer c(ctx);
  ValueId x = c.in(0);
  const int rank = c.rank(0, x, 1);
  SCANLOOM_CHECK_OK(c.done());
  const auto count = static_cast<std::int64_t>(names.size());
  const std::int64_t columns = c.known_size(x, rank - 1);
  if (columns >= 0 && columns != count)
    return invalid_model("{} has {} columns for {} labels", ctx.describe_input(0), columns, count);
  const Ints order = names.are_texts() ? ascending(names.texts) : ascending(names.integers);
  ClassLabels sorted;
  for (const std::int64_t at : order) {
    const auto from = static_cast<std::size_t>(at);
    if (names.are_texts())
      sorted.texts.push_back(names.texts[from]);
    else
      sorted.integers.push_back(names.integers[from]);
  }
  if (static_cast<std::int64_t>(order.size()) != count || !std::ranges::is_sorted(order))
    x = c.gather(x, c.list(order), rank - 1);
  const Shape shape = {static_cast<std::int64_t>(order.size())};
  SCANLOOM_TRY(Tensor keys, names.are_texts()
                                ? Tensor::of_strings(shape, sorted.texts)
                                : Tensor::copy_of(DType::i64, shape, sorted.integers.data()));
  return c.emit(c.op(ops::zip_map_op, {x}, {{"keys", std::move(keys)}}));
}

}  // namespace scanloom::onnx
