// pad. Its list of pads is split into two; wrapping is written as a gather.
#include "exporters/openvino/ops/forms.h"

namespace scanloom::exporters::openvino {

namespace {

/// Returns elements [start, stop) of `x`, a list of i64.
Output part(NodeWriter& out, Output x, std::int64_t start, std::int64_t stop) {
  return out.slice(x, 0, out.list({start}), out.list({stop}), 1, DType::i64);
}

struct Pads {
  Output begin, end;
};

/// Scatters the pads of computed axes into lists of zeros.
Pads scattered(NodeWriter& out, Output given, int rank) {
  constexpr std::size_t kAxes = 3;
  const DType i64 = DType::i64;
  const Output axes = out.dtype(kAxes) == i64 ? out.in(kAxes) : out.convert(out.in(kAxes), i64);
  const Output zeros = out.list(NodeWriter::Ints(static_cast<std::size_t>(rank), 0));
  const Output count = out.shape_of(axes), none = out.list({0});
  const auto placed = [&](Output start, Output stop) {
    const Output pads = out.slice(given, 0, start, stop, 1, i64);
    return out.layer("ScatterElementsUpdate", 12, {zeros, axes, pads, out.number(0)}, i64,
                     {{"reduction", "none"}, {"use_init_val", "true"}});
  };
  return {placed(none, count), placed(count, out.binary("Add", count, count, i64))};
}

/// Returns the pads of all axes.
Pads all_pads(NodeWriter& out, int rank) {
  constexpr std::size_t kPads = 1, kAxes = 3;
  const Output given =
      out.dtype(kPads) == DType::i64 ? out.in(kPads) : out.convert(out.in(kPads), DType::i64);
  if (!out.has(kAxes)) return Pads{part(out, given, 0, rank), part(out, given, rank, 2 * rank)};
  const tensor::Tensor* const axes = out.constant_in(kAxes);
  if (axes == nullptr) return scattered(out, given, rank);
  const NodeWriter::Ints padded = *tensor::to_integers(*axes);
  const auto count = static_cast<std::int64_t>(padded.size());
  // An axis not listed takes the entry after all pads, which is 0.
  NodeWriter::Ints positions(static_cast<std::size_t>(rank), 2 * count);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t axis = padded[static_cast<std::size_t>(i)];
    positions[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = i;
  }
  const Output with_zero = out.concat({given, out.list({0})}, 0, DType::i64);
  const Output begin = out.gather(with_zero, out.list(positions), 0, DType::i64);
  for (std::int64_t& position : positions)
    if (position < count) position += count;
  return Pads{begin, out.gather(with_zero, out.list(positions), 0, DType::i64)};
}

/// Along each axis, element i is element i - begin, modulo the size.
Output wrapped(NodeWriter& out, const Pads& pads, int rank) {
  const DType i64 = DType::i64;
  Output x = out.in(0);
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const Output size = out.size_of(x, axis);
    const Output begin = out.gather(pads.begin, out.number(axis), 0, i64);
    const Output end = out.gather(pads.end, out.number(axis), 0, i64);
    const Output first = out.binary("Subtract", out.number(0), begin, i64);
    const Output last = out.binary("Add", size, end, i64);
    const Output positions =
        out.layer("Range", 4, {first, last, out.number(1)}, i64, {{"output_type", "i64"}});
    x = out.gather(x, out.binary("FloorMod", positions, size, i64), axis, out.dtype());
  }
  return x;
}

}  // namespace

void write_pad(NodeWriter& out) {
  constexpr std::size_t kValue = 2;
  if (!out.type(0).ranked) return out.refuse("x has an unknown number of axes");
  const int rank = out.type(0).rank();
  const Pads pads = all_pads(out, rank);
  const std::string& mode = out.text("mode");
  if (mode == "wrap") return out.set(wrapped(out, pads, rank));
  std::vector<Output> inputs{out.in(0), pads.begin, pads.end};
  if (out.has(kValue)) inputs.push_back(out.reshape(out.in(kValue), out.list({}), out.dtype()));
  out.set(out.layer("Pad", 12, std::move(inputs), out.dtype(), {{"pad_mode", mode}}));
}

}  // namespace scanloom::exporters::openvino
