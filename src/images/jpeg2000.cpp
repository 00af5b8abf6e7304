// JPEG 2000, by OpenJPEG: images of one or three components of 8 bits and equal size.
#include <algorithm>
#include <cstring>
#include <memory>

#include "images/formats.h"

#ifdef SCANLOOM_WITH_OPENJPEG

#include <openjpeg.h>

namespace scanloom::images {
namespace {

struct Stream {
  File file;
  std::uint64_t at = 0;
};

OPJ_SIZE_T read_stream(void* to, OPJ_SIZE_T count, void* user) {
  auto& stream = *static_cast<Stream*>(user);
  const std::uint64_t left = stream.file.size() - stream.at;
  if (left == 0) return static_cast<OPJ_SIZE_T>(-1);
  const auto taken = std::min<std::uint64_t>(left, count);
  std::memcpy(to, stream.file.data() + stream.at, taken);
  stream.at += taken;
  return taken;
}
OPJ_OFF_T skip_stream(OPJ_OFF_T count, void* user) {
  auto& stream = *static_cast<Stream*>(user);
  const auto left = static_cast<OPJ_OFF_T>(stream.file.size() - stream.at);
  if (count < 0 || left == 0) return -1;
  const OPJ_OFF_T taken = std::min(count, left);
  stream.at += static_cast<std::uint64_t>(taken);
  return taken;
}
OPJ_BOOL seek_stream(OPJ_OFF_T offset, void* user) {
  auto& stream = *static_cast<Stream*>(user);
  if (offset < 0 || static_cast<std::uint64_t>(offset) > stream.file.size()) return OPJ_FALSE;
  stream.at = static_cast<std::uint64_t>(offset);
  return OPJ_TRUE;
}

template <auto kDestroy>
struct Destroy {
  template <class T>
  void operator()(T* object) const {
    kDestroy(object);
  }
};
using StreamOwner = std::unique_ptr<opj_stream_t, Destroy<opj_stream_destroy>>;
using Codec = std::unique_ptr<opj_codec_t, Destroy<opj_destroy_codec>>;
using Image = std::unique_ptr<opj_image_t, Destroy<opj_image_destroy>>;

bool is_plain(const opj_image_t& image) {
  if (image.numcomps != 1 && image.numcomps != 3) return false;
  for (OPJ_UINT32 i = 0; i < image.numcomps; ++i) {
    const opj_image_comp_t& component = image.comps[i];
    if (component.prec != 8 || component.sgnd != 0 || component.dx != 1 || component.dy != 1 ||
        component.w != image.comps[0].w || component.h != image.comps[0].h)
      return false;
  }
  return image.color_space != OPJ_CLRSPC_SYCC && image.color_space != OPJ_CLRSPC_EYCC &&
         image.color_space != OPJ_CLRSPC_CMYK;
}

Outcome read_image(opj_codec_t* codec, opj_stream_t* stream, PixelMemory memory) {
  opj_image_t* made = nullptr;
  const bool header = opj_read_header(stream, codec, &made) != OPJ_FALSE;
  const Image image(made);
  if (!header || image == nullptr) return Outcome::invalid;
  const std::int64_t width = std::int64_t{image->x1} - image->x0;
  const std::int64_t height = std::int64_t{image->y1} - image->y0;
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide || !is_plain(*image))
    return Outcome::invalid;
  std::uint8_t* const pixels = memory(height, width);
  if (pixels == nullptr) return Outcome::stopped;
  if (opj_decode(codec, stream, image.get()) == OPJ_FALSE || !is_plain(*image) ||
      image->comps[0].w != width || image->comps[0].h != height)
    return Outcome::invalid;
  for (OPJ_UINT32 colour = 0; colour < 3; ++colour) {
    const OPJ_INT32* const from = image->comps[image->numcomps == 3 ? colour : 0].data;
    if (from == nullptr) return Outcome::invalid;
    for (std::int64_t i = 0; i < height * width; ++i)
      pixels[3 * i + colour] = static_cast<std::uint8_t>(std::clamp(from[i], 0, 255));
  }
  return Outcome::decoded;
}

}  // namespace

Outcome decode_jpeg2000(File file, PixelMemory memory) {
  const bool has_header = file[0] == std::byte{0};
  Stream source{file};
  const StreamOwner stream(opj_stream_default_create(OPJ_TRUE));
  const Codec codec(opj_create_decompress(has_header ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K));
  if (stream == nullptr || codec == nullptr) return Outcome::invalid;
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), file.size());
  opj_stream_set_read_function(stream.get(), read_stream);
  opj_stream_set_skip_function(stream.get(), skip_stream);
  opj_stream_set_seek_function(stream.get(), seek_stream);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  if (opj_setup_decoder(codec.get(), &parameters) == OPJ_FALSE) return Outcome::invalid;
  return read_image(codec.get(), stream.get(), memory);
}

}  // namespace scanloom::images

#else

namespace scanloom::images {
Outcome decode_jpeg2000(File /*file*/, PixelMemory /*memory*/) { return Outcome::unsupported; }
}  // namespace scanloom::images

#endif
