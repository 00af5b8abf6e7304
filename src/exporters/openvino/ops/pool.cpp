// Pools. Rounding up as torch does, which leaves out windows that would begin in the padding, is of
// operation set 14; dilations of averages are of 16.
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

bool is_dilated(const NodeWriter& out) {
  if (!out.attr("dilations").present()) return false;
  for (const std::int64_t each : out.attr("dilations").integers())
    if (each != 1) return true;
  return false;
}

void without(Data& data, std::string_view name) {
  std::erase_if(data, [&](const auto& each) { return each.first == name; });
}

Output average(NodeWriter& out, Output x, bool with_padding, DType dtype) {
  Data data = pool_data(out);
  data.emplace_back("exclude-pad", with_padding ? "false" : "true");
  if (!is_dilated(out)) without(data, "dilations");
  const int opset = is_dilated(out) ? 16 : out.flag("ceil_mode") ? 14 : 1;
  return out.layer("AvgPool", opset, {x}, dtype, std::move(data));
}

}  // namespace

void write_average_pool(NodeWriter& out) {
  out.set(average(out, out.in(0), out.flag("count_include_pad"), out.dtype()));
}

void write_max_pool(NodeWriter& out) {
  if (out.is_read(1) && out.flag("storage_order"))
    return out.refuse("indices with the first axis fastest have no form in an IR");
  Data data = pool_data(out);
  data.emplace_back("index_element_type", "i64");
  data.emplace_back("axis", "0");
  const int opset = out.flag("ceil_mode") ? 14 : 8;
  const std::vector<Output> made =
      out.layers("MaxPool", opset, {out.in(0)}, {out.dtype(), DType::i64}, std::move(data));
  out.set(0, made[0]);
  out.set(1, made[1]);
}

/// The mean of |x|^p over whole windows, times their elements, to the power of 1 / p.
void write_lp_pool(NodeWriter& out) {
  const DType dtype = out.dtype();
  const double p = out.attr("p").real();
  double elements = 1;
  for (const std::int64_t each : out.attr("kernel").integers())
    elements *= static_cast<double>(each);
  const Output size = out.layer("Abs", 1, {out.in(0)}, dtype);
  const Output powers = out.binary("Power", size, out.scalar(p, dtype), dtype);
  if (out.flag("ceil_mode"))
    return out.refuse("norms of windows that reach beyond the padding have no form in an IR");
  const Output mean = average(out, powers, true, dtype);
  const Output sum = out.binary("Multiply", mean, out.scalar(elements, dtype), dtype);
  out.set(out.binary("Power", sum, out.scalar(1 / p, dtype), dtype));
}

}  // namespace scanloom::exporters::openvino
