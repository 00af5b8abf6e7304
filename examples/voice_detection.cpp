// Finds speech in a WAV file (16 kHz, mono, 16 bits) with silero_vad.onnx and prints its segments.
//
//   voice_detection silero_vad.onnx recording.wav
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <scanloom/session.h>

namespace {

constexpr std::int64_t kRate = 16000;
constexpr std::size_t kChunk = 512;   // samples that are new in each push
constexpr std::size_t kContext = 64;  // the last samples of the chunk before, in front of it
constexpr double kChunkSeconds = static_cast<double>(kChunk) / kRate;
constexpr float kBeginAt = 0.5f, kEndUnder = 0.35f;
constexpr double kSilenceSeconds = 0.1;

using Samples = std::vector<float>;

scanloom::Error bad_file(const std::string& path, const std::string& why) {
  return {scanloom::Code::invalid_argument, path + ": " + why};
}

/// A little-endian number of `bytes` bytes at `from`.
std::uint32_t number(const std::vector<unsigned char>& file, std::size_t from, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = value << 8 | file[from + i];
  return value;
}

/// Reads the chunks of a RIFF file: "fmt " says what the samples are, "data" holds them.
scanloom::Expected<Samples> read_wav(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  if (!stream || !(content << stream.rdbuf()))  // a folder, or an empty file
    return scanloom::Error(scanloom::Code::not_found, "cannot read " + path);
  const std::string bytes = std::move(content).str();
  const std::vector<unsigned char> file(bytes.begin(), bytes.end());
  const auto is = [&](std::size_t at, const char* tag) {
    return std::equal(tag, tag + 4, file.begin() + static_cast<std::ptrdiff_t>(at));
  };
  if (file.size() < 12 || !is(0, "RIFF") || !is(8, "WAVE")) return bad_file(path, "not a WAV file");
  bool format_known = false;
  for (std::size_t at = 12; at + 8 <= file.size();) {
    const std::size_t begin = at + 8;
    const std::size_t promised = number(file, at + 4, 4);
    const std::size_t size = std::min(promised, file.size() - begin);
    if (is(at, "fmt ") && size >= 16) {
      const std::uint32_t channels = number(file, begin + 2, 2), rate = number(file, begin + 4, 4);
      const std::uint32_t bits = number(file, begin + 14, 2);
      if (channels != 1 || rate != kRate || bits != 16)
        return bad_file(path, "it has " + std::to_string(channels) + " channel(s) of " +
                                  std::to_string(bits) + " bits at " + std::to_string(rate) +
                                  " Hz, needed is 1 of 16 bits at 16000 Hz");
      format_known = true;
    } else if (is(at, "data")) {
      if (!format_known) return bad_file(path, "its samples come before their format");
      if (size != promised)
        return bad_file(path, "it is cut off: its header promises " + std::to_string(promised) +
                                  " bytes of samples, it holds " + std::to_string(size));
      Samples samples(size / 2);
      for (std::size_t i = 0; i < samples.size(); ++i)
        samples[i] = static_cast<std::int16_t>(number(file, begin + 2 * i, 2)) / 32768.0f;
      return samples;
    }
    at = begin + size + size % 2;  // chunks begin at even places
  }
  return bad_file(path, "it holds no samples");
}

/// Speech begins at 0.5 and ends where it fell under 0.35, unless 0.5 returns within 100 ms.
class SegmentPrinter {
 public:
  void push(float probability) {
    const double now = kChunkSeconds * static_cast<double>(chunks_++);
    if (probability >= kBeginAt) {
      quiet_since_ = -1;
      if (begin_ < 0) begin_ = now;
    } else if (probability < kEndUnder && begin_ >= 0) {
      if (quiet_since_ < 0) quiet_since_ = now;
      if (now - quiet_since_ >= kSilenceSeconds) finish();
    }
  }
  /// Ends the segment that is open, if one is.
  void finish() {
    if (begin_ < 0) return;
    const double end =
        quiet_since_ >= 0 ? quiet_since_ : kChunkSeconds * static_cast<double>(chunks_);
    std::printf("speech from %6.2f s to %6.2f s\n", begin_, end);
    begin_ = quiet_since_ = -1;
  }

 private:
  double begin_ = -1, quiet_since_ = -1;  // -1: none
  std::int64_t chunks_ = 0;
};

scanloom::Expected<void> detect(const std::string& model, const std::string& recording) {
  scanloom::Expected<Samples> samples = read_wav(recording);
  if (!samples) return samples.error();
  // The stream keeps the model's state from chunk to chunk.
  scanloom::SessionOptions options;
  options.threads = 1;
  options.states = {{"state", "stateN"}};
  scanloom::Expected<scanloom::Session> session = scanloom::Session::load(model, options);
  if (!session) return session.error();
  scanloom::Expected<scanloom::Stream> stream = session->stream();
  if (!stream) return stream.error();
  const std::array<float, 2 * 128> silence = {};
  scanloom::Expected<void> set = stream->set("state", scanloom::view(silence.data(), {2, 1, 128}));
  if (!set) return set.error();

  SegmentPrinter segments;
  std::array<float, kContext + kChunk> input = {};
  for (std::size_t at = 0; at < samples->size(); at += kChunk) {
    std::copy(input.end() - kContext, input.end(), input.begin());
    std::fill(input.begin() + kContext, input.end(), 0.0f);
    const std::size_t count = std::min(kChunk, samples->size() - at);
    std::copy_n(samples->begin() + static_cast<std::ptrdiff_t>(at), count,
                input.begin() + kContext);
    auto results = stream->push({{"input", scanloom::view(input.data(), {1, kContext + kChunk})},
                                 {"sr", scanloom::view(&kRate, {})}});
    if (!results) return results.error();
    const auto probability = results->try_as<float>("output");
    if (!probability) return probability.error();
    segments.push((*probability)[0]);
  }
  segments.finish();
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: voice_detection MODEL.onnx RECORDING.wav\n");
    return 2;
  }
  const scanloom::Expected<void> done = detect(argv[1], argv[2]);
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (done && is_written) return 0;
  if (done)
    std::fprintf(stderr, "error: cannot write the segments\n");
  else
    std::fprintf(stderr, "error: %s\n", done.error().message().c_str());
  return 2;
}
