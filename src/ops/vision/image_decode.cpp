// The files are decoded to red, green and blue by a plug-in (images/interface.h); what is made of
// the colours is here.
#include <utility>

#include "base/checked.h"
#include "ops/ops.h"
#include "ops/vision/image_plugin.h"

namespace scanloom::ops {
namespace {
namespace image_decode {

using tensor::Tensor;

constexpr int kPixels = 0;
constexpr std::int64_t kColours = 3;
/// The most memory that a decoder needs for a pixel, besides the result.
constexpr std::int64_t kWorkBytes = 16;

Expected<std::int64_t> channels_of(const std::string& pixels) {
  if (pixels == "RGB" || pixels == "BGR") return kColours;
  if (pixels == "Grayscale") return 1;
  return invalid_model("pixel_format is '{}', not 'RGB', 'BGR' or 'Grayscale'", pixels);
}

Expected<void> infer(ir::InferCtx& ctx) {
  const tensor::Type& file = ctx.in(0);
  if (file.dtype != DType::u8)
    return invalid_model("the file has elements of type {}, not u8", dtype_name(file.dtype));
  if (file.ranked && file.rank() != 1)
    return invalid_model("the file has {} axes, not 1", file.rank());
  SCANLOOM_TRY(const std::int64_t channels, channels_of(ctx.attr(kPixels).text()));
  ctx.set(0, DType::u8, {ctx.dims().fresh(), ctx.dims().fresh(), channels});
  return {};
}

/// The brightness as ITU-R 601 defines it, in 16 bits of fraction.
std::uint8_t brightness(const std::uint8_t* colours) {
  constexpr std::uint32_t kRed = 19595, kGreen = 38470, kBlue = 7471, kHalf = 1 << 15;
  return static_cast<std::uint8_t>(
      (kRed * colours[0] + kGreen * colours[1] + kBlue * colours[2] + kHalf) >> 16);
}

Expected<Tensor> as_grayscale(const Tensor& colours) {
  SCANLOOM_TRY(Tensor gray, Tensor::zeros(DType::u8, {colours.shape()[0], colours.shape()[1], 1}));
  const auto* from = static_cast<const std::uint8_t*>(colours.data());
  auto* const to = static_cast<std::uint8_t*>(gray.mutable_data());
  for (std::int64_t i = 0; i < gray.elements(); ++i, from += kColours) to[i] = brightness(from);
  return gray;
}

void swap_red_and_blue(Tensor& colours) {
  auto* const at = static_cast<std::uint8_t*>(colours.mutable_data());
  for (std::int64_t i = 0; i < colours.elements(); i += kColours) std::swap(at[i], at[i + 2]);
}

/// Returns the colours; without rows and columns if the file is no image, or damaged.
Expected<Tensor> decoded(const images::Plugin& decoders, const Tensor& file,
                         tensor::MemoryAccount& account) {
  Expected<Tensor> colours = Tensor::zeros(DType::u8, {0, 0, kColours});
  const auto memory = [&](std::int64_t height, std::int64_t width) -> std::uint8_t* {
    if (Expected<void> fits = account.check(height * width * (kColours + 1 + kWorkBytes)); !fits)
      colours = std::move(fits).error();
    else
      colours = Tensor::zeros(DType::u8, {height, width, kColours});
    return colours ? static_cast<std::uint8_t*>(colours->mutable_data()) : nullptr;
  };
  const std::span bytes(static_cast<const std::byte*>(file.data()), file.bytes());
  const images::Decoded result = decoders.decode(bytes, memory);
  if (result.outcome == images::Outcome::unsupported)
    return fail(Code::unsupported, "this build cannot decode {}", result.format);
  if (result.outcome == images::Outcome::invalid) return Tensor::zeros(DType::u8, {0, 0, kColours});
  return colours;
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const Tensor& file = call.tensor(0);
  if (file.shape().rank() != 1)
    return fail(Code::invalid_argument, "the file has {} axes, not 1", file.shape().rank());
  SCANLOOM_TRY(const images::Plugin* const decoders, image_decoders());
  SCANLOOM_TRY(Tensor colours, decoded(*decoders, file, call.memory));
  const std::string& pixels = call.attrs[kPixels].text();
  if (pixels == "Grayscale") {
    SCANLOOM_TRY(colours, as_grayscale(colours));
  } else if (pixels == "BGR") {
    swap_red_and_blue(colours);
  }
  return call.give(0, std::move(colours));
}

}  // namespace image_decode
}  // namespace

constinit const ir::OpDef image_decode_op{
    .name = "image_decode",
    .doc =
        "The pixels [height, width, channel] of an image file: BMP, JPEG, JPEG 2000, PNG, PNM, "
        "TIFF or WebP. `pixel_format` is RGB, BGR or Grayscale. Without rows and columns if the "
        "file is not an image, or damaged.",
    .inputs = {{"file", ir::Accept::integer}},
    .outputs = {"pixels"},
    .attrs = {{"pixel_format", tensor::AttrKind::text}},
    .effects = ir::Effects::may_fail,
    .infer = image_decode::infer,
    .run_objects = image_decode::run_objects,
};

}  // namespace scanloom::ops
