#include <limits>

#include "base/checked.h"
#include "base/function_ref.h"
#include "ops/ops.h"
#include "ops/string/text.h"

namespace scanloom::ops {
namespace {
namespace string_split {

using tensor::Shape;
using tensor::Tensor;
using tensor::Type;

constexpr int kDelimiter = 0;
constexpr int kMax = 1;

Expected<void> infer(ir::InferCtx& ctx) {
  Type counts = ctx.in(0), parts = ctx.in(0);
  counts.dtype = DType::i64;
  if (parts.ranked && parts.rank() == tensor::kMaxRank)
    return fail(Code::unsupported, "x has {} axes, but the parts need one more", parts.rank());
  if (parts.ranked) parts.dims.push_back(ctx.dims().fresh());
  ctx.set(0, std::move(parts));
  ctx.set(1, std::move(counts));
  return {};
}

/// Returns the bytes of leading white space, as defined by Unicode; 0: none.
std::size_t blank(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(0);
  if (first == ' ' || (first >= 0x09 && first <= 0x0d) || (first >= 0x1c && first <= 0x1f))
    return 1;
  if (first == 0xc2) return byte(1) == 0x85 || byte(1) == 0xa0 ? 2 : 0;
  const unsigned tail = byte(1) << 8 | byte(2);
  if (first == 0xe1) return tail == 0x9a80 ? 3 : 0;  // U+1680
  if (first == 0xe3) return tail == 0x8080 ? 3 : 0;  // U+3000
  if (first != 0xe2) return 0;
  const bool blank = (tail >= 0x8080 && tail <= 0x808a) || tail == 0x80a8 || tail == 0x80a9 ||
                     tail == 0x80af || tail == 0x819f;
  return blank ? 3 : 0;
}

std::string_view without_leading_blanks(std::string_view text) {
  while (const std::size_t size = blank(text)) text.remove_prefix(size);
  return text;
}

std::size_t find_blank(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at)
    if (blank(text.substr(at)) > 0) return at;
  return text.size();
}

using Part = FunctionRef<void(std::string_view)>;

/// Splits at runs of white space; the rest after the last split keeps its own.
void split_at_blanks(std::string_view text, std::int64_t most, Part part) {
  text = without_leading_blanks(text);
  while (!text.empty()) {
    const std::size_t end = most == 0 ? text.size() : find_blank(text);
    part(text.substr(0, end));
    text = without_leading_blanks(text.substr(end));
    --most;
  }
}

void split_at(std::string_view text, std::string_view delimiter, std::int64_t most, Part part) {
  for (; most > 0; --most) {
    const std::size_t at = text.find(delimiter);
    if (at == std::string_view::npos) break;
    part(text.substr(0, at));
    text.remove_prefix(at + delimiter.size());
  }
  part(text);
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const Tensor& x = call.tensor(0);
  const std::string& delimiter = call.attrs[kDelimiter].text();
  const std::int64_t given = call.attrs[kMax].integer();
  const std::int64_t most = given < 0 ? std::numeric_limits<std::int64_t>::max() : given;
  SCANLOOM_CHECK_OK(call.memory.check(x.elements() * std::int64_t{sizeof(std::int64_t)}));
  SCANLOOM_TRY(Tensor counts, Tensor::zeros(DType::i64, x.shape()));
  auto* const count = static_cast<std::int64_t*>(counts.mutable_data());
  SCANLOOM_CHECK_OK(call.give(1, std::move(counts)));
  std::int64_t widest = 0, bytes = 0;
  // Splits twice: a list of the parts of a long text would take as much memory as the result.
  const auto split = [&](const StringRef& element, Part part) {
    if (delimiter.empty())
      split_at_blanks(element.view(), most, part);
    else
      split_at(element.view(), delimiter, most, part);
  };
  const std::span<const StringRef> elements = x.as<StringRef>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    split(elements[i], [&](std::string_view part) {
      ++count[i];
      bytes += static_cast<std::int64_t>(part.size());
    });
    widest = std::max(widest, count[i]);
  }
  Shape shape = x.shape();
  shape.push_back(widest);
  const std::int64_t factors[] = {x.elements(), widest};
  TextMaker made(call);
  SCANLOOM_CHECK_OK(made.reserve(
      checked_product(factors).value_or(std::numeric_limits<std::int64_t>::max()), bytes));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    Expected<void> done;
    split(elements[i], [&](std::string_view part) {
      if (done) done = made.add(part);
    });
    SCANLOOM_CHECK_OK(std::move(done));
    for (std::int64_t k = count[i]; k < widest; ++k)
      SCANLOOM_CHECK_OK(made.add(std::string_view()));
  }
  return made.give(0, shape);
}

}  // namespace string_split
}  // namespace

constinit const ir::OpDef string_split_op{
    .name = "string_split",
    .doc =
        "The parts of each string between delimiters, along a new last axis that is filled up with "
        "empty strings, and how many parts each has. An empty delimiter stands for runs of white "
        "space, which do not count at both ends. At most `most` splits where that is not negative.",
    .inputs = {{"x", ir::Accept::text}},
    .outputs = {"parts", "counts"},
    .attrs = {{"delimiter", tensor::AttrKind::text}, {"most", tensor::AttrKind::integer}},
    .infer = string_split::infer,
    .run_objects = string_split::run_objects,
};

}  // namespace scanloom::ops
