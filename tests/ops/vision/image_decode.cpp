// What is decoded is tested in python/tests/onnx/test_image_decoder.py, which has files of all
// formats; a build may lack the decoders.
#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> image_decode_samples() {
  return {
      {.name = "unknown_pixels",
       .inputs = {u8({1}, {0})},
       .attrs = {{"pixel_format", "CMYK"}},
       .error = "pixel_format is 'CMYK', not 'RGB', 'BGR' or 'Grayscale'"},
      {.name = "two_axes",
       .inputs = {u8({1, 1}, {0})},
       .attrs = {{"pixel_format", "RGB"}},
       .error = "the file has 2 axes, not 1"},
      {.name = "integers",
       .inputs = {i32({1}, {0})},
       .attrs = {{"pixel_format", "RGB"}},
       .error = "the file has elements of type i32, not u8"},
  };
}

}  // namespace scanloom::ops
