// Pools. Rounding up as torch does, without windows that would start in the padding, needs
// operation set 14; dilated averages need 16.
#include <algorithm>
#include <cmath>

#include "exporters/openvino/ops/forms.h"
#include "exporters/openvino/ops/spatial.h"

namespace scanloom::exporters::openvino {

namespace {

Data pool_data(const NodeWriter& out) {
  const auto spatial = static_cast<int>(out.attr("kernel").integers().size());
  Data data = window_attributes(out, spatial);
  data.emplace_back("kernel", list_text(out.attr("kernel").integers()));
  data.emplace_back("rounding_type", out.flag("ceil_mode") ? "ceil_torch" : "floor");
  return data;
}

bool is_explicit(const NodeWriter& out) {
  return !out.attr("auto_pad").present() || out.text("auto_pad") == "explicit";
}

bool is_dilated(const NodeWriter& out) {
  if (!out.attr("dilations").present()) return false;
  for (const std::int64_t each : out.attr("dilations").integers())
    if (each != 1) return true;
  return false;
}

void without(Data& data, std::string_view name) {
  std::erase_if(data, [&](const auto& each) { return each.first == name; });
}

Output average(NodeWriter& out, Output x, bool with_padding, DType dtype, Data data) {
  data.emplace_back("exclude-pad", with_padding ? "false" : "true");
  if (!is_dilated(out)) without(data, "dilations");
  const int opset = is_dilated(out) ? 16 : out.flag("ceil_mode") ? 14 : 1;
  return out.layer("AvgPool", opset, {x}, dtype, std::move(data));
}

bool has_pads(const NodeWriter& out, int spatial) {
  const auto is_given = [](std::int64_t pad) { return pad != 0; };
  return std::ranges::any_of(explicit_pads(out, spatial, is_explicit(out)), is_given);
}

/// With ceil_mode the operator counts only elements within the pads, but OpenVINO divides by the
/// whole kernel. So the pads become elements of x; what the last windows reach beyond them, which
/// is less than a window, becomes padding that is not counted.
void write_counted_up(NodeWriter& out, int spatial) {
  const NodeWriter::Ints pads = explicit_pads(out, spatial, true);
  const NodeWriter::Ints strides = spatial_numbers(out, "strides", spatial, 1);
  const NodeWriter::Ints dilations = spatial_numbers(out, "dilations", spatial, 1);
  const NodeWriter::Ints& kernel = out.attr("kernel").integers();
  NodeWriter::Ints begin{0, 0}, end{0, 0};
  NodeWriter::Ints room(pads.size(), 0);
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::int64_t reach = (kernel[i] - 1) * dilations[i];
    begin.push_back(pads[i]);
    end.push_back(std::min(pads[i + kernel.size()], reach));
    room[i + kernel.size()] = std::min(strides[i] - 1, reach - end.back());
  }
  const Output x = out.layer("Pad", 12, {out.in(0), out.list(begin), out.list(end)}, out.dtype(),
                             {{"pad_mode", "constant"}});
  Data data = window_data(out, spatial, room);
  data.emplace_back("kernel", list_text(kernel));
  data.emplace_back("rounding_type", "floor");
  out.set(average(out, x, false, out.dtype(), std::move(data)));
}

/// The windows of a pool with explicit pads, which are those of rounding down.
struct Windows {
  int spatial;
  NodeWriter::Ints strides, extents, begin, end;

  explicit Windows(const NodeWriter& out)
      : spatial(static_cast<int>(out.attr("kernel").integers().size())),
        strides(spatial_numbers(out, "strides", spatial, 1)),
        extents(out.attr("kernel").integers()) {
    const NodeWriter::Ints dilations = spatial_numbers(out, "dilations", spatial, 1);
    const NodeWriter::Ints pads = explicit_pads(out, spatial, is_explicit(out));
    begin.assign(pads.begin(), pads.begin() + spatial);
    end.assign(pads.begin() + spatial, pads.end());
    for (std::size_t i = 0; i < extents.size(); ++i)
      extents[i] = (extents[i] - 1) * dilations[i] + 1;
  }

  /// Whether pads are as large as a window, which then may have no elements of x.
  [[nodiscard]] bool may_miss() const { return reach(begin) || reach(end); }

  /// Turns rounding up into padding at the end. The padding is less than a window, so none starts
  /// in it.
  void round_up() {
    for (std::size_t i = 0; i < end.size(); ++i)
      end[i] = std::min(end[i] + strides[i] - 1, extents[i] - 1);
  }

  /// Turns padding at the end into rounding up in mode ceil. False, with nothing changed: there is
  /// too little or too much for that, or windows could start after the padding, which OpenVINO's
  /// CPU plugin divides wrongly.
  bool take_rounding() {
    NodeWriter::Ints rest = end;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      rest[i] -= strides[i] - 1;
      if (rest[i] < 0 || strides[i] > extents[i]) return false;
    }
    if (reach(begin) || reach(rest)) return false;
    end = std::move(rest);
    return true;
  }

 private:
  [[nodiscard]] bool reach(const NodeWriter::Ints& pads) const {
    for (std::size_t i = 0; i < pads.size(); ++i)
      if (pads[i] >= extents[i]) return true;
    return false;
  }
};

Data pool_data(const NodeWriter& out, const Windows& windows, const char* rounding) {
  NodeWriter::Ints pads = windows.begin;
  pads.insert(pads.end(), windows.end.begin(), windows.end.end());
  Data data = window_data(out, windows.spatial, pads);
  data.emplace_back("kernel", list_text(out.attr("kernel").integers()));
  data.emplace_back("rounding_type", rounding);
  return data;
}

/// Returns the mean over x with zeros as padding, divided by the share of x in the window.
Output mean_of_share(NodeWriter& out, Windows windows) {
  const DType i64 = DType::i64, given = out.dtype();
  const DType dtype = given == DType::f64 ? given : DType::f32;
  const auto spatial = static_cast<std::size_t>(windows.spatial);
  NodeWriter::Ints begin{0, 0}, end{0, 0};
  begin.insert(begin.end(), windows.begin.begin(), windows.begin.end());
  end.insert(end.end(), windows.end.begin(), windows.end.end());
  windows.begin.assign(spatial, 0);
  windows.end.assign(spatial, 0);
  const auto mean = [&](Output x) {
    const Output padded = out.layer("Pad", 12, {x, out.list(begin), out.list(end)}, dtype,
                                    {{"pad_mode", "constant"}});
    return average(out, padded, false, dtype, pool_data(out, windows, "floor"));
  };
  const Output plane =
      out.slice(out.shape_of(out.in(0)), 0, out.list({2}), out.list({2 + windows.spatial}), 1, i64);
  const Output ones =
      out.broadcast(out.scalar(1, dtype), out.concat({out.list({1, 1}), plane}, 0, i64), dtype);
  const Output x = given == dtype ? out.in(0) : out.convert(out.in(0), dtype);
  const Output y = out.binary("Divide", mean(x), mean(ones), dtype);
  return given == dtype ? y : out.convert(y, given);
}

/// OpenVINO refuses to average x alone with pads as large as a window.
Output mean_within_large_pads(NodeWriter& out, Windows windows) {
  if (out.flag("ceil_mode")) windows.round_up();
  const char* rounding = "floor";
  if (windows.may_miss()) {
    if (!windows.take_rounding()) return mean_of_share(out, std::move(windows));
    rounding = "ceil";
  }
  return average(out, out.in(0), false, out.dtype(), pool_data(out, windows, rounding));
}

}  // namespace

void write_average_pool(NodeWriter& out) {
  Windows windows(out);
  const bool with_padding = out.flag("count_include_pad");
  if (!with_padding && windows.may_miss())
    return out.set(mean_within_large_pads(out, std::move(windows)));
  if (with_padding && out.flag("ceil_mode") && has_pads(out, windows.spatial))
    return write_counted_up(out, windows.spatial);
  out.set(average(out, out.in(0), with_padding, out.dtype(), pool_data(out)));
}

namespace {

/// Converts row-major element indices, counted from the first image, to indices that number the
/// elements of a plane with the first axis fastest.
Output first_axis_fastest(NodeWriter& out, Output numbers, int rank) {
  const DType i64 = DType::i64;
  const Output shape = out.shape_of(out.in(0));
  const auto size = [&](int axis) { return out.gather(shape, out.number(axis), 0, i64); };
  Output plane = size(2);
  for (int axis = 3; axis < rank; ++axis) plane = out.binary("Multiply", plane, size(axis), i64);
  Output rest = out.binary("FloorMod", numbers, plane, i64);
  Output result = out.binary("Subtract", numbers, rest, i64), before = plane;
  // From the last axis to the first; `before` is the product of the sizes of the preceding axes.
  for (int axis = rank - 1; axis >= 2; --axis) {
    before = out.binary("Divide", before, size(axis), i64);
    const Output position = out.binary("FloorMod", rest, size(axis), i64);
    result = out.binary("Add", result, out.binary("Multiply", position, before, i64), i64);
    rest = out.binary("Divide", rest, size(axis), i64);
  }
  return result;
}

}  // namespace

void write_max_pool(NodeWriter& out) {
  Data data = pool_data(out);
  data.emplace_back("index_element_type", "i64");
  data.emplace_back("axis", "0");
  const int opset = out.flag("ceil_mode") ? 14 : 8;
  const std::vector<Output> made =
      out.layers("MaxPool", opset, {out.in(0)}, {out.dtype(), DType::i64}, std::move(data));
  out.set(0, made[0]);
  if (out.node().outputs.size() < 2) return;
  if (!out.is_read(1)) return out.set_unread(1);
  const auto rank = static_cast<int>(out.attr("kernel").integers().size()) + 2;
  out.set(1,
          out.flag("storage_order") && rank > 3 ? first_axis_fastest(out, made[1], rank) : made[1]);
}

/// Scatters the elements of x into zeros at the given indices, then appends zeros.
void write_max_unpool(NodeWriter& out) {
  constexpr std::size_t kIndices = 1, kShape = 2;
  const DType dtype = out.dtype(), i64 = DType::i64;
  const NodeWriter::Ints& kernel = out.attr("kernel").integers();
  const auto spatial = static_cast<int>(kernel.size());
  const NodeWriter::Ints strides = spatial_numbers(out, "strides", spatial, 1);
  const NodeWriter::Ints pads = spatial_numbers(out, "pads", 2 * spatial, 0);
  NodeWriter::Ints factors{1, 1}, added{0, 0};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    factors.push_back(strides[i]);
    added.push_back(kernel[i] - strides[i] - pads[i] - pads[i + kernel.size()]);
  }
  const Output given = out.shape_of(out.in(0));
  const Output sizes = out.binary("Add", out.binary("Multiply", given, out.list(factors), i64),
                                  out.list(added), i64);
  const Output count =
      out.layer("ReduceProd", 1, {sizes, out.number(0)}, i64, {{"keep_dims", "true"}});
  const Output zeros = out.broadcast(out.scalar(0, dtype), count, dtype);
  const auto flat = [&](std::size_t i) {
    return out.reshape(out.in(i), out.list({-1}), out.dtype(i));
  };
  const Output filled =
      out.layer("ScatterElementsUpdate", 3, {zeros, flat(kIndices), flat(0), out.number(0)}, dtype);
  Output y = out.reshape(filled, sizes, dtype);
  if (out.has(kShape)) {
    const Output wanted =
        out.dtype(kShape) == i64 ? out.in(kShape) : out.convert(out.in(kShape), i64);
    const NodeWriter::Ints none(kernel.size() + 2, 0);
    y = out.layer("Pad", 12, {y, out.list(none), out.binary("Subtract", wanted, sizes, i64)}, dtype,
                  {{"pad_mode", "constant"}});
  }
  out.set(y);
}

namespace {

/// Rounds windows up by padding x at the end with as many zeros as a stride may leave out. Windows
/// that start after x are cut off.
Data rounded_up(const NodeWriter& out, Data data, int spatial) {
  NodeWriter::Ints ends = explicit_pads(out, spatial, is_explicit(out));
  ends.erase(ends.begin(), ends.begin() + spatial);
  const NodeWriter::Ints strides = spatial_numbers(out, "strides", spatial, 1);
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] += strides[i] - 1;
  for (auto& [name, value] : data)
    if (name == "pads_end")
      value = list_text(ends);
    else if (name == "rounding_type")
      value = "floor";
  return data;
}

Output cut_windows(NodeWriter& out, Output y, int spatial) {
  const DType i64 = DType::i64;
  NodeWriter::Ints reach = explicit_pads(out, spatial, is_explicit(out)), axes;
  reach.resize(static_cast<std::size_t>(spatial));
  const NodeWriter::Ints strides = spatial_numbers(out, "strides", spatial, 1);
  for (std::size_t i = 0; i < reach.size(); ++i) {
    reach[i] += strides[i] - 1;
    axes.push_back(static_cast<std::int64_t>(i) + 2);
  }
  const Output sizes =
      out.slice(out.shape_of(out.in(0)), 0, out.list({2}), out.list({2 + spatial}), 1, i64);
  const Output most =
      out.binary("Divide", out.binary("Add", sizes, out.list(reach), i64), out.list(strides), i64);
  const NodeWriter::Ints zeros(axes.size(), 0), ones(axes.size(), 1);
  return out.layer("Slice", 8, {y, out.list(zeros), most, out.list(ones), out.list(axes)},
                   out.dtype());
}

}  // namespace

/// The mean of |x|^p over whole windows, times the number of their elements, to the power 1 / p.
void write_lp_pool(NodeWriter& out) {
  const DType dtype = out.dtype();
  const double p = out.attr("p").real();
  double elements = 1;
  for (const std::int64_t each : out.attr("kernel").integers())
    elements *= static_cast<double>(each);
  const auto spatial = static_cast<int>(out.attr("kernel").integers().size());
  const bool is_same = out.attr("auto_pad").present() && out.text("auto_pad").starts_with("same");
  const bool is_up = out.flag("ceil_mode") && !is_same;
  const Output size = out.layer("Abs", 1, {out.in(0)}, dtype);
  const Output powers = out.binary("Power", size, out.scalar(p, dtype), dtype);
  Data data = pool_data(out);
  if (is_up) data = rounded_up(out, std::move(data), spatial);
  Output mean = average(out, powers, true, dtype, std::move(data));
  if (is_up) mean = cut_windows(out, mean, spatial);
  const Output sum = out.binary("Multiply", mean, out.scalar(elements, dtype), dtype);
  out.set(out.binary("Power", sum, out.scalar(1 / p, dtype), dtype));
}

}  // namespace scanloom::exporters::openvino
