#include "exporters/openvino/windows.h"

#include "ir/scan_window.h"

namespace scanloom::exporters::openvino {

using ir::ScannedPort;

namespace {

/// Above this many, indices are computed by layers instead of stored.
constexpr std::int64_t kMaxListed = 4096;

/// Returns 0, 1, ..., count - 1.
Output count_up(NodeWriter& out, Output count) {
  return out.layer("Range", 4, {out.number(0), count, out.number(1)}, DType::i64,
                   {{"output_type", "i64"}});
}

/// Whether slices of `part` elements fill an axis of that size exactly.
bool divides(std::int64_t part, tensor::Dim size) {
  return part == 1 || (size.is_constant() && size.value() % part == 0);
}

struct ComputedWindow {
  Output first, count;
};

/// scan_window for a size that is not known.
ComputedWindow computed_window(NodeWriter& out, Output x, const ScannedPort& port) {
  const auto i64 = DType::i64;
  const Output size = out.size_of(x, port.axis);
  const Output start = port.start < 0 ? out.binary("Add", size, out.number(port.start), i64)
                                      : out.number(port.start);
  const bool forwards = port.stride > 0;
  const Output first = forwards ? start : out.binary("Add", start, out.number(1 - port.part), i64);
  // Elements after the first slice, in the direction of the walk.
  const Output room = forwards ? out.binary("Subtract", out.binary("Subtract", size, start, i64),
                                            out.number(port.part), i64)
                               : first;
  const Output more =
      out.layer("Divide", 1, {room, out.number(forwards ? port.stride : -port.stride)}, i64,
                {{"auto_broadcast", "numpy"}, {"m_pythondiv", "true"}});
  const Output fits =
      out.binary("Maximum", out.binary("Add", more, out.number(1), i64), out.number(0), i64);
  const Output lies_inside = out.binary("GreaterEqual", start, out.number(0), DType::boolean);
  return {first, out.layer("Select", 1, {lies_inside, fits, out.number(0)}, i64)};
}

}  // namespace

Output gathered_slices(NodeWriter& out, Output x, const tensor::Type& type,
                       const ScannedPort& port) {
  const tensor::Dim size = type.dims[static_cast<std::size_t>(port.axis)];
  const auto known =
      size.is_constant() ? std::optional(ir::scan_window(port, size.value())) : std::nullopt;
  if (known && known->count <= kMaxListed / port.part) {
    NodeWriter::Ints indices;
    for (std::int64_t k = 0; k < known->count; ++k)
      for (std::int64_t i = 0; i < port.part; ++i)
        indices.push_back(known->first + k * port.stride + i);
    return out.gather(x, out.list(indices), port.axis, type.dtype);
  }
  const auto i64 = DType::i64;
  const ComputedWindow window =
      known ? ComputedWindow{out.number(known->first), out.number(known->count)}
            : computed_window(out, x, port);
  const Output step = count_up(out, window.count);
  const Output begin = out.binary("Add", out.binary("Multiply", step, out.number(port.stride), i64),
                                  window.first, i64);
  const Output within = count_up(out, out.number(port.part));
  const Output indices = out.binary("Add", out.unsqueeze(begin, {1}, i64), within, i64);
  return out.gather(x, out.reshape(indices, out.list({-1}), i64), port.axis, type.dtype);
}

Sliced sliced(NodeWriter& out, Output x, const tensor::Type& type, const ScannedPort& port) {
  const bool is_whole = divides(port.part, type.dims[static_cast<std::size_t>(port.axis)]);
  if (is_whole && port.start == 0 && port.stride == port.part)
    return {x, {port.axis, port.part, false}};
  if (is_whole && port.start == -1 && port.stride == -port.part)
    return {x, {port.axis, port.part, true}};
  return {gathered_slices(out, x, type, port), {port.axis, port.part, false}};
}

Output slice_count(NodeWriter& out, const Sliced& sliced) {
  const Output size = out.size_of(sliced.value, sliced.window.axis);
  if (sliced.window.part == 1) return size;
  return out.binary("Divide", size, out.number(sliced.window.part), DType::i64);
}

Data window_data(const Window& window) {
  const std::int64_t stride = window.is_reversed ? -window.part : window.part;
  return {{"axis", std::to_string(window.axis)},
          {"start", window.is_reversed ? "-1" : "0"},
          {"end", window.is_reversed ? "0" : "-1"},
          {"stride", std::to_string(stride)},
          {"part_size", std::to_string(window.part)}};
}

}  // namespace scanloom::exporters::openvino
