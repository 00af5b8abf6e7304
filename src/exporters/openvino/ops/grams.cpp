// tfidf: compares every window of x with every gram of the same length.
#include <algorithm>
#include <limits>
#include <map>

#include "exporters/openvino/ops/forms.h"

namespace scanloom::exporters::openvino {

using tensor::Tensor;

namespace {

/// Limit on the distances tried between the elements of a gram.
constexpr std::int64_t kMaxSteps = 256;

class GramWriter {
 public:
  explicit GramWriter(NodeWriter& out) : out_(out), dtype_(out.dtype()) {}

  void write() {
    const tensor::Type& type = out_.type(0);
    if (!type.ranked) return out_.refuse("x has an unknown number of axes");
    if (dtype_ == DType::string) return out_.refuse("an IR compares no strings");
    if (out_.integer("skips") >= kMaxSteps)
      return out_.refuse("grams over 256 elements that are left out, or more, have no form");
    const bool is_row = type.rank() == 1;
    x_ = is_row ? out_.unsqueeze(out_.in(0), {0}, dtype_) : out_.in(0);
    std::vector<Output> counts;
    for (std::int64_t n = 1; n <= static_cast<std::int64_t>(starts().size()); ++n)
      if (start_of(n) < start_of(n + 1)) counts.push_back(counts_of(n));
    Output found = counts.size() == 1 ? counts[0] : out_.concat(counts, 1, DType::f32);
    if (out_.text("mode") == "IDF")
      found = out_.convert(
          out_.binary("Greater", found, out_.scalar(0, DType::f32), DType::boolean), DType::f32);
    const Output y = out_.layer("MatMul", 1, {found, out_.constant(columns())}, DType::f32,
                                {{"transpose_a", "false"}, {"transpose_b", "false"}});
    out_.set(is_row ? out_.squeeze(y, {0}, DType::f32) : y);
  }

 private:
  [[nodiscard]] const NodeWriter::Ints& starts() const { return out_.attr("starts").integers(); }
  [[nodiscard]] const Tensor& pool() const { return out_.attr("pool").tensor(); }
  /// Returns where grams of n elements start in the pool, which is where those of n - 1 end.
  [[nodiscard]] std::int64_t start_of(std::int64_t n) const {
    const auto i = static_cast<std::size_t>(n - 1);
    return i < starts().size() ? starts()[i] : pool().elements();
  }
  [[nodiscard]] NodeWriter::Ints gram_elements(std::int64_t n, std::int64_t k) const {
    const NodeWriter::Ints all = *tensor::to_integers(pool());
    NodeWriter::Ints elements;
    for (std::int64_t at = start_of(n) + k; at < start_of(n + 1); at += n)
      elements.push_back(all[static_cast<std::size_t>(at)]);
    return elements;
  }

  /// Returns the counts [rows, grams of n elements]; zeros for lengths that do not count.
  Output counts_of(std::int64_t n) {
    const bool counts = n >= out_.integer("least") && n <= out_.integer("most");
    const std::int64_t widest = !counts ? 0 : n == 1 ? 1 : out_.integer("skips") + 1;
    Output sum;
    for (std::int64_t step = 1; step <= widest; ++step) {
      const Output one = count_at(n, step);
      sum = sum.valid() ? out_.binary("Add", sum, one, DType::f32) : one;
    }
    if (sum.valid()) return sum;
    const std::int64_t grams = (start_of(n + 1) - start_of(n)) / n;
    const Output sizes =
        out_.concat({out_.size_of(x_, 0, true), out_.list({grams})}, 0, DType::i64);
    return out_.broadcast(out_.scalar(0, DType::f32), sizes, DType::f32);
  }

  /// Counts windows whose elements are `step` apart.
  Output count_at(std::int64_t n, std::int64_t step) {
    Output equal;
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t left = (n - 1 - k) * step;
      const std::int64_t stop =
          left == 0 ? std::int64_t{std::numeric_limits<std::int32_t>::max()} : -left;
      const Output element = out_.slice(x_, 1, out_.list({k * step}), out_.list({stop}), 1, dtype_);
      Output grams = out_.list(gram_elements(n, k));
      if (dtype_ != DType::i64) grams = out_.convert(grams, dtype_);
      const Output one =
          out_.binary("Equal", out_.unsqueeze(element, {2}, dtype_), grams, DType::boolean);
      equal = equal.valid() ? out_.binary("LogicalAnd", equal, one, DType::boolean) : one;
    }
    return out_.layer("ReduceSum", 1, {out_.convert(equal, DType::f32), out_.list({1})}, DType::f32,
                      {{"keep_dims", "false"}});
  }

  /// Returns [grams, columns]: what one occurrence adds to each column. Of equal grams only the
  /// first counts.
  [[nodiscard]] Tensor columns() const {
    const NodeWriter::Ints& positions = out_.attr("columns").integers();
    const std::vector<double>& weights = out_.attr("weights").floats();
    const std::int64_t count = *std::ranges::max_element(positions) + 1;
    const NodeWriter::Ints all = *tensor::to_integers(pool());
    std::vector<float> values(positions.size() * static_cast<std::size_t>(count), 0.0F);
    std::map<NodeWriter::Ints, bool> known;
    std::size_t gram = 0;
    for (std::int64_t n = 1; n <= static_cast<std::int64_t>(starts().size()); ++n)
      for (std::int64_t at = start_of(n); at < start_of(n + 1); at += n, ++gram) {
        const auto first = all.begin() + at;
        if (!known.emplace(NodeWriter::Ints(first, first + n), true).second) continue;
        const bool is_weighted = out_.text("mode") != "TF" && !weights.empty();
        values[gram * static_cast<std::size_t>(count) + static_cast<std::size_t>(positions[gram])] =
            is_weighted ? static_cast<float>(weights[gram]) : 1.0F;
      }
    return Tensor::of<float>({static_cast<std::int64_t>(positions.size()), count}, values);
  }

  NodeWriter& out_;
  DType dtype_;
  Output x_;
};

}  // namespace

void write_tfidf(NodeWriter& out) {
  constexpr std::int64_t kMaxWeights = std::int64_t{1} << 24;
  const NodeWriter::Ints& columns = out.attr("columns").integers();
  if (columns.empty()) return out.refuse("it has no grams");
  const auto grams = static_cast<std::int64_t>(columns.size());
  if (*std::ranges::max_element(columns) >= kMaxWeights / grams)
    return out.refuse("there are more than 2^24 pairs of grams and columns");
  GramWriter(out).write();
}

}  // namespace scanloom::exporters::openvino
