#include <algorithm>
#include <map>
#include <string>

#include "ops/ops.h"
#include "tensor/object_call.h"

namespace scanloom::ops {
namespace {
namespace tfidf {

using tensor::Shape;
using tensor::Tensor;
using tensor::Type;

enum Attr : int { kPool, kStarts, kColumns, kWeights, kMin, kMax, kSkips, kMode };

std::int64_t column_count(std::span<const tensor::Attr> attrs) {
  const std::vector<std::int64_t>& columns = attrs[kColumns].integers();
  return columns.empty() ? 0 : *std::ranges::max_element(columns) + 1;
}

/// Returns where the grams of n elements begin in the pool, in elements; they end where those of
/// n + 1 begin.
std::int64_t start_of(std::span<const tensor::Attr> attrs, std::int64_t n) {
  const std::vector<std::int64_t>& starts = attrs[kStarts].integers();
  const auto i = static_cast<std::size_t>(n - 1);
  return i < starts.size() ? starts[i] : attrs[kPool].tensor().elements();
}

/// Checks that pool, starts and columns describe the same grams.
Expected<void> check_pool(ir::InferCtx& ctx) {
  const std::vector<std::int64_t>& starts = ctx.attr(kStarts).integers();
  const std::int64_t elements = ctx.attr(kPool).tensor().elements();
  std::int64_t grams = 0, last = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto n = static_cast<std::int64_t>(i) + 1;
    const std::int64_t end = start_of(ctx.attrs(), n + 1);
    if (starts[i] < last || starts[i] > elements || end < starts[i])
      return invalid_model("grams of {} elements begin at {}, but the pool has {} elements", n,
                           starts[i], elements);
    if ((end - starts[i]) % n != 0)
      return invalid_model("{} elements of the pool are not a multiple of grams of {}",
                           end - starts[i], n);
    grams += (end - starts[i]) / n;
    last = starts[i];
  }
  const auto columns = static_cast<std::int64_t>(ctx.attr(kColumns).integers().size());
  if (grams != columns)
    return invalid_model("the pool holds {} grams, but {} columns are named", grams, columns);
  for (const std::int64_t column : ctx.attr(kColumns).integers())
    if (column < 0 || column >= (std::int64_t{1} << 40))
      return invalid_model("column {} is outside [0, 2^40)", column);
  const auto weights = static_cast<std::int64_t>(ctx.attr(kWeights).floats().size());
  if (weights != 0 && weights != columns)
    return invalid_model("there are {} weights, but {} grams", weights, columns);
  return {};
}

Expected<void> check_lengths(ir::InferCtx& ctx) {
  const std::int64_t least = ctx.attr(kMin).integer(), most = ctx.attr(kMax).integer();
  const auto known = static_cast<std::int64_t>(ctx.attr(kStarts).integers().size());
  if (least < 1 || most < least || most > known)
    return invalid_model("grams have {} to {} elements, but the pool has grams of 1 to {}", least,
                         most, known);
  if (ctx.attr(kSkips).integer() < 0)
    return invalid_model("skips is {}, but must be at least 0", ctx.attr(kSkips).integer());
  const std::string& mode = ctx.attr(kMode).text();
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return invalid_model("the mode is '{}', but must be TF, IDF or TFIDF", mode);
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_lengths(ctx));
  SCANLOOM_CHECK_OK(check_pool(ctx));
  const bool texts = ctx.attr(kPool).tensor().dtype() == DType::string;
  const bool fits =
      texts ? ctx.dtype() == DType::string : ctx.dtype() == DType::i64 || ctx.dtype() == DType::i32;
  if (!fits)
    return invalid_model("x is {}, but the pool is {}", dtype_name(ctx.dtype()),
                         dtype_name(ctx.attr(kPool).tensor().dtype()));
  Type type = ctx.in(0);
  type.dtype = DType::f32;
  if (type.ranked) {
    if (type.rank() != 1 && type.rank() != 2)
      return invalid_model("x has {} axes, but must have 1 or 2", type.rank());
    type.dims.back() = column_count(ctx.attrs());
  }
  ctx.set(0, std::move(type));
  return {};
}

/// Appends an element's bytes, equal for equal elements, after their length.
void append_element(std::string& gram, const Tensor& tensor, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  if (tensor.dtype() == DType::string) {
    const StringRef& text = tensor.as<StringRef>()[at];
    gram.append(reinterpret_cast<const char*>(&text.size), sizeof text.size).append(text.view());
    return;
  }
  const std::int64_t value =
      tensor.dtype() == DType::i32 ? tensor.as<std::int32_t>()[at] : tensor.as<std::int64_t>()[at];
  gram.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string gram_at(const Tensor& tensor, std::int64_t first, std::int64_t step, std::int64_t n) {
  std::string gram;
  for (std::int64_t k = 0; k < n; ++k) append_element(gram, tensor, first + k * step);
  return gram;
}

using Grams = std::map<std::string, std::size_t>;

/// Returns the grams of n elements by content, with their number in the pool.
Grams grams_of(std::span<const tensor::Attr> attrs, std::int64_t n) {
  std::int64_t number = 0;
  for (std::int64_t shorter = 1; shorter < n; ++shorter)
    number += (start_of(attrs, shorter + 1) - start_of(attrs, shorter)) / shorter;
  Grams grams;
  for (std::int64_t at = start_of(attrs, n); at < start_of(attrs, n + 1); at += n)
    grams.emplace(gram_at(attrs[kPool].tensor(), at, 1, n), static_cast<std::size_t>(number++));
  return grams;
}

/// Counts the grams of n elements in [first, first + count), with up to kSkips elements skipped
/// between two.
void count_grams(const tensor::ObjectCall& call, const Grams& grams, std::int64_t n,
                 std::int64_t first, std::int64_t count, std::vector<std::int64_t>& found) {
  const std::int64_t widest = n == 1 ? 1 : std::min(call.attrs[kSkips].integer(), count) + 1;
  for (std::int64_t step = 1; step <= widest && step * (n - 1) < count; ++step)
    for (std::int64_t at = 0; at + step * (n - 1) < count; ++at) {
      const auto gram = grams.find(gram_at(call.tensor(0), first + at, step, n));
      if (gram != grams.end()) ++found[gram->second];
    }
}

void fill_row(std::span<const tensor::Attr> attrs, const std::vector<std::int64_t>& found,
              float* row) {
  const std::string& mode = attrs[kMode].text();
  const std::vector<double>& weights = attrs[kWeights].floats();
  for (std::size_t gram = 0; gram < found.size(); ++gram) {
    if (found[gram] == 0) continue;
    const auto count = static_cast<float>(found[gram]);
    const float weight = weights.empty() ? 1.0f : static_cast<float>(weights[gram]);
    float& cell = row[attrs[kColumns].integers()[gram]];
    cell += mode == "TF" ? count : mode == "IDF" ? weight : count * weight;
  }
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  Shape shape = call.tensor(0).shape();
  if (shape.rank() < 1 || shape.rank() > 2)
    return fail(Code::invalid_argument, "x has {} axes, but must have 1 or 2", shape.rank());
  const std::int64_t rows = shape.rank() == 2 ? shape[0] : 1, length = shape[shape.rank() - 1];
  const std::int64_t columns = column_count(call.attrs);
  shape[shape.rank() - 1] = columns;
  if (const auto elements = shape.checked_elements())
    SCANLOOM_CHECK_OK(call.memory.check(*elements * std::int64_t{sizeof(float)}));
  SCANLOOM_TRY(Tensor y, Tensor::zeros(DType::f32, shape));
  if (length == 0 || columns == 0) return call.give(0, std::move(y));
  std::vector<Grams> grams;
  const std::int64_t least = call.attrs[kMin].integer(), most = call.attrs[kMax].integer();
  for (std::int64_t n = least; n <= most; ++n) grams.push_back(grams_of(call.attrs, n));
  std::vector<std::int64_t> found(call.attrs[kColumns].integers().size());
  for (std::int64_t row = 0; row < rows; ++row) {
    std::ranges::fill(found, 0);
    for (std::int64_t n = least; n <= most; ++n)
      count_grams(call, grams[static_cast<std::size_t>(n - least)], n, row * length, length, found);
    fill_row(call.attrs, found, static_cast<float*>(y.mutable_data()) + row * columns);
  }
  return call.give(0, std::move(y));
}

}  // namespace tfidf
}  // namespace

constinit const ir::OpDef tfidf_op{
    .name = "tfidf",
    .doc =
        "How often each gram of the pool occurs in x, or in each row of it: `least` to `most` "
        "elements, between any two neighbours of which as many others stand, up to `skips`. The "
        "pool "
        "lists grams of one element from starts[0] on, of two from starts[1] on, and so forth; "
        "columns says where each is counted. IDF writes its weight instead, TFIDF their product.",
    .inputs = {{"x", ir::Accept::tensor}},
    .outputs = {"y"},
    .attrs = {{"pool", tensor::AttrKind::tensor},
              {"starts", tensor::AttrKind::integers},
              {"columns", tensor::AttrKind::integers},
              {"weights", tensor::AttrKind::floats},
              {"least", tensor::AttrKind::integer},
              {"most", tensor::AttrKind::integer},
              {"skips", tensor::AttrKind::integer},
              {"mode", tensor::AttrKind::text}},
    .infer = tfidf::infer,
    .run_objects = tfidf::run_objects,
};

}  // namespace scanloom::ops
