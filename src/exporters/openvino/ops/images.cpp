// Operators that sample images and regions of images.
#include <array>
#include <cmath>

#include "exporters/openvino/ops/filters.h"
#include "exporters/openvino/ops/forms.h"
#include "ops/ops.h"

namespace scanloom::exporters::openvino {

namespace {

const char* truth(bool value) { return value ? "true" : "false"; }

}  // namespace

void write_grid_sample(NodeWriter& out) {
  const std::string& mode = out.text("mode");
  const std::string word = mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode;
  const tensor::Type& x = out.type(0);
  if (!x.ranked || x.rank() != 4) return out.refuse("an IR samples images of two axes alone");
  out.set(out.layer("GridSample", 9, {out.in(0), out.in(1)}, out.dtype(),
                    {{"align_corners", truth(out.flag("align_corners"))},
                     {"mode", word},
                     {"padding_mode", out.text("padding")}}));
}

namespace {

/// What determines the positions of the elements of a resampled axis.
enum class Target : std::uint8_t { size, factor, neither };

/// An IR layer takes the size and derives the factor, or takes the factor and derives the size.
Target target_of(const NodeWriter& out) {
  constexpr std::size_t kSize = 1, kScale = 2;
  const tensor::Tensor *const scale = out.constant_in(kScale), *const size = out.constant_in(kSize);
  const bool at_corners = out.text("coordinates") == "align_corners";
  if (scale == nullptr) {
    if (out.made_by(kScale) == &ops::div_op) return Target::size;
    return out.made_by(kScale) == &ops::cast_op && !at_corners ? Target::factor : Target::neither;
  }
  if (size == nullptr || !out.type(0).ranked) return at_corners ? Target::neither : Target::factor;
  const std::int64_t axis = out.integer("axis");
  const tensor::Dim in =
      out.type(0).dims[static_cast<std::size_t>(axis < 0 ? axis + out.type(0).rank() : axis)];
  if (!in.is_constant()) return at_corners ? Target::neither : Target::factor;
  const double factor = scale->as<double>().front(), from = static_cast<double>(in.value());
  const auto to = static_cast<double>(tensor::to_integers(*size)->front());
  if (factor == to / from) return Target::size;
  const bool is_made = std::floor(static_cast<float>(from) * static_cast<float>(factor)) == to;
  return is_made && !at_corners ? Target::factor : Target::neither;
}

/// Returns a layer that resamples an axis of x to `target`, a list of one size or factor.
Output interpolated(NodeWriter& out, Output x, Output target, std::int64_t axis, Target by,
                    std::string_view mode, bool antialias) {
  const bool is_nearest = mode.starts_with("nearest_");
  return out.layer(
      "Interpolate", 11, {x, target, out.list({axis})}, out.dtype(),
      {{"mode", is_nearest ? "nearest" : std::string(mode)},
       {"shape_calculation_mode", by == Target::size ? "sizes" : "scales"},
       {"coordinate_transformation_mode", out.text("coordinates")},
       {"nearest_mode", is_nearest ? std::string(mode.substr(8)) : "round_prefer_floor"},
       {"cube_coeff", real_text(out.attr("cubic_a").real())},
       {"antialias", truth(antialias)},
       {"pads_begin", "0"},
       {"pads_end", "0"}});
}

/// Returns the mode of the layer that filters as the library Pillow does, if that is meant: with
/// antialiasing, over x alone, by sizes and, in OpenVINO's CPU plugin, with one cubic filter. Empty
/// otherwise.
std::string_view pillow_mode(const NodeWriter& out, Target by) {
  if (!out.flag("antialias") || !out.flag("exclude_outside") || by != Target::size ||
      out.text("coordinates") != "half_pixel" || !out.type(0).ranked)
    return {};
  if (out.text("mode") == "linear") return "bilinear_pillow";
  return out.text("mode") == "cubic" && out.attr("cubic_a").real() == -0.5 ? "bicubic_pillow" : "";
}

/// OpenVINO's CPU plugin resamples the last two of two to four axes in these modes. Other axes
/// become the middle one of three.
Output resampled_as_pillow(NodeWriter& out, std::string_view mode, Output size) {
  const DType dtype = out.dtype(), i64 = DType::i64;
  const std::int64_t rank = out.type(0).rank(), given = out.integer("axis");
  const std::int64_t axis = given < 0 ? given + rank : given;
  const Output x = out.in(0);
  if (rank >= 2 && rank <= 4 && axis >= rank - 2)
    return interpolated(out, x, size, axis, Target::size, mode, false);
  const Output shape = out.shape_of(x);
  std::vector<Output> parted, whole;
  const auto add_side = [&](std::int64_t begin, std::int64_t end) {
    if (begin == end) return parted.push_back(out.list({1}));
    whole.push_back(out.slice(shape, 0, out.list({begin}), out.list({end}), 1, i64));
    parted.push_back(
        out.layer("ReduceProd", 1, {whole.back(), out.list({0})}, i64, {{"keep_dims", "true"}}));
  };
  add_side(0, axis);
  parted.push_back(out.size_of(x, axis, true));
  whole.push_back(out.dtype(1) == i64 ? size : out.convert(size, i64));
  add_side(axis + 1, rank);
  const Output middle = out.reshape(x, out.concat(std::move(parted), 0, i64), dtype);
  const Output y = interpolated(out, middle, size, 1, Target::size, mode, false);
  return out.reshape(y, out.concat(std::move(whole), 0, i64), dtype);
}

/// Whether the factor is known to be at least 1, so that antialiasing changes nothing.
bool enlarges(const NodeWriter& out) {
  const tensor::Tensor* const scale = out.constant_in(2);
  return scale != nullptr && scale->as<double>().front() >= 1;
}

}  // namespace

/// Resamples one axis. The IR's layer supports only factors that are quotients of sizes or
/// determine the size, antialiasing filters only if they leave out what is outside, and coordinates
/// only over all of x. OpenVINO's CPU plugin takes no notice of attribute `antialias`, so it is
/// written only if no other form has the filter.
void write_resample(NodeWriter& out) {
  constexpr std::size_t kSize = 1, kScale = 2;
  const std::string& mode = out.text("mode");
  const std::string& coordinates = out.text("coordinates");
  const bool is_cropped =
      coordinates == "tf_crop_and_resize" || coordinates == "half_pixel_symmetric";
  const bool antialias = out.flag("antialias");
  const Target by = target_of(out);
  const auto size = [&] { return out.reshape(out.in(kSize), out.list({1}), out.dtype(kSize)); };
  if (const std::string_view pillow = pillow_mode(out, by); !pillow.empty())
    return out.set(resampled_as_pillow(out, pillow, size()));
  const bool has_layer = !is_cropped && out.flag("exclude_outside") == antialias &&
                         !(antialias && mode == "cubic") && by != Target::neither;
  if (!has_layer || (antialias && no_filters(out).empty())) return write_filters(out);
  const Output target = by == Target::size ? size()
                                           : out.reshape(out.convert(out.in(kScale), DType::f32),
                                                         out.list({1}), DType::f32);
  out.set(interpolated(out, out.in(0), target, out.integer("axis"), by, mode,
                       antialias && !enlarges(out)));
}

void write_roi_align(NodeWriter& out) {
  const std::string& mode = out.text("mode");
  if (mode == "max") return out.refuse("the greatest of weighted elements has no form in an IR");
  out.set(
      out.layer("ROIAlign", 9, out.all_inputs(), out.dtype(),
                {{"pooled_h", std::to_string(out.integer("height"))},
                 {"pooled_w", std::to_string(out.integer("width"))},
                 {"sampling_ratio", std::to_string(out.integer("sampling_ratio"))},
                 {"spatial_scale", real_text(out.attr("spatial_scale").real())},
                 {"mode", mode == "avg" ? "avg" : "max"},
                 {"aligned_mode", out.flag("half_pixel") ? "half_pixel_for_nn" : "asymmetric"}}));
}

void write_max_roi_pool(NodeWriter& out) {
  const auto sizes = std::array{out.integer("height"), out.integer("width")};
  out.set(out.layer("ROIPooling", 1, {out.in(0), out.in(1)}, out.dtype(),
                    {{"output_size", list_text(sizes)},
                     {"spatial_scale", real_text(out.attr("spatial_scale").real())},
                     {"method", "max"}}));
}

void write_psroi_pool(NodeWriter& out) {
  if (out.integer("height") != out.integer("width"))
    return out.refuse("an IR pools regions into as many rows as columns");
  const bool deformable = out.text("mode") == "deformable";
  if (!deformable && out.has(2))
    return out.refuse("an IR moves the cells of deformable pools alone");
  Data data = {{"output_dim", std::to_string(out.integer("channels"))},
               {"group_size", std::to_string(out.integer("height"))},
               {"spatial_scale", real_text(out.attr("spatial_scale").real())},
               {"mode", deformable ? "bilinear_deformable" : out.text("mode")},
               {"spatial_bins_y", std::to_string(out.integer("bins_y"))},
               {"spatial_bins_x", std::to_string(out.integer("bins_x"))}};
  if (deformable) {
    const tensor::Type* const offsets = out.has(2) ? &out.type(2) : nullptr;
    if (offsets != nullptr && (!offsets->ranked || !offsets->dims[2].is_constant()))
      return out.refuse("offsets of an unknown number of parts have no form in an IR");
    data.push_back(
        {"part_size", offsets == nullptr ? "1" : std::to_string(offsets->dims[2].value())});
    data.push_back({"trans_std", real_text(out.attr("offset_scale").real())});
  }
  out.set(out.layer(deformable ? "DeformablePSROIPooling" : "PSROIPooling", 1, out.all_inputs(),
                    out.dtype(), std::move(data)));
}

namespace {

/// Counts how often each box occurs in the last column of the rows.
Output kept_boxes(NodeWriter& out, Output rows) {
  const DType i64 = DType::i64;
  const Output boxes =
      out.layer("Range", 4, {out.number(0), out.size_of(out.in(0), 1), out.number(1)}, i64,
                {{"output_type", "i64"}});
  const Output kept = out.gather(rows, out.list({2}), 1, i64);
  const Output is_kept = out.convert(out.binary("Equal", kept, boxes, DType::boolean), i64);
  return out.layer("ReduceSum", 1, {is_kept, out.list({0})}, i64, {{"keep_dims", "false"}});
}

}  // namespace

void write_non_max_suppression(NodeWriter& out) {
  constexpr std::size_t kMax = 2, kOverlap = 3, kScore = 4;
  const auto scalar = [&](std::size_t i) {
    return out.reshape(out.in(i), out.list({}), out.dtype(i));
  };
  std::vector<Output> inputs{out.in(0), out.in(1), out.has(kMax) ? scalar(kMax) : out.number(0)};
  inputs.push_back(out.has(kOverlap) ? scalar(kOverlap) : out.scalar(0, DType::f32));
  constexpr double kLowest = -3.4028234663852886e38;
  inputs.push_back(out.has(kScore) ? scalar(kScore) : out.scalar(kLowest, DType::f32));
  const std::vector<Output> made =
      out.layers("NonMaxSuppression", 9, std::move(inputs), {DType::i64, out.dtype(1), DType::i64},
                 {{"box_encoding", out.flag("center_point_box") ? "center" : "corner"},
                  {"sort_result_descending", "false"},
                  {"output_type", "i64"}});
  // Some implementations append rows of -1 after the last valid one.
  const Output count = out.reshape(made[2], out.list({1}), DType::i64);
  const Output rows = out.slice(made[0], 0, out.list({0}), count, 1, DType::i64);
  out.set(0, rows);
  if (out.node().outputs.size() < 2) return;
  if (!out.is_read(1)) return out.set_unread(1);
  out.set(1, kept_boxes(out, rows));
}

void write_col2im(NodeWriter& out) {
  const tensor::Type& image = out.type(1);
  if (!image.ranked || !image.dims[0].is_constant())
    return out.refuse("an image of an unknown number of axes has no form in an IR");
  const auto axes = static_cast<std::size_t>(image.dims[0].value());
  if (axes > 2) return out.refuse("an IR puts blocks together along two axes alone");
  const auto list = [&](const char* name, std::int64_t fallback) {
    if (out.attr(name).present()) return out.attr(name).integers();
    return NodeWriter::Ints(name == std::string_view("pads") ? 2 * axes : axes, fallback);
  };
  NodeWriter::Ints strides = list("strides", 1), dilations = list("dilations", 1);
  NodeWriter::Ints pads = list("pads", 0);
  std::vector<Output> inputs = out.all_inputs();
  // A one-axis image is written as a single row.
  if (axes == 1) {
    strides.insert(strides.begin(), 1);
    dilations.insert(dilations.begin(), 1);
    pads = {0, pads[0], 0, pads[1]};
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      const Output one = out.convert(out.list({1}), out.dtype(i));
      inputs[i] = out.concat({one, inputs[i]}, 0, out.dtype(i));
    }
  }
  const std::span<const std::int64_t> all(pads);
  const Output y = out.layer("Col2Im", 15, std::move(inputs), out.dtype(),
                             {{"strides", list_text(strides)},
                              {"dilations", list_text(dilations)},
                              {"pads_begin", list_text(all.first(2))},
                              {"pads_end", list_text(all.subspan(2))}});
  out.set(axes == 1 ? out.squeeze(y, {2}, out.dtype()) : y);
}

}  // namespace scanloom::exporters::openvino
