// Measures runs of small models with Google Benchmark through the public API:
//   kernels_bench FOLDER [--benchmark_...]    every .onnx file in FOLDER, stepped and automatic
// Open dimensions and the input "trips" are set to kSteps; the items of the report are then steps.
// bench/models.py writes such a folder.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <scanloom/session.h>

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSteps = 10'000;

/// A loaded model and the memory of its feeds.
struct Subject {
  scanloom::Session session;
  std::vector<std::vector<std::byte>> memory;
  std::vector<scanloom::Feed> feeds;
  std::int64_t steps = 1;
};

/// Fills `bytes` with typical values, none of which is a fast case of a kernel.
void fill(std::vector<std::byte>& bytes, scanloom::DType dtype, std::int64_t elements) {
  if (dtype == scanloom::DType::f32) {
    auto* const values = reinterpret_cast<float*>(bytes.data());
    for (std::int64_t i = 0; i < elements; ++i)
      values[i] = static_cast<float>((i * 37) % 101) * 0.01F - 0.5F;
  } else if (dtype == scanloom::DType::i64) {
    std::fill_n(reinterpret_cast<std::int64_t*>(bytes.data()), elements, kSteps);
  }
}

void add_feed(Subject& subject, const scanloom::ValueInfo& input) {
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  for (const scanloom::ValueInfo::Dim& dim : input.shape) {
    const bool fixed = dim.size >= 0;
    if (!fixed) subject.steps = kSteps;
    shape.push_back(fixed ? dim.size : kSteps);
    elements *= shape.back();
  }
  if (input.name == "trips") subject.steps = kSteps;
  std::vector<std::byte>& bytes = subject.memory.emplace_back(static_cast<std::size_t>(elements) *
                                                              scanloom::dtype_bytes(input.dtype));
  fill(bytes, input.dtype, elements);
  scanloom::View view{input.dtype, std::move(shape), bytes.data(), {}, nullptr};
  subject.feeds.push_back({input.name, std::move(view)});
}

void run_model(benchmark::State& state, const fs::path& path, scanloom::Execution execution) {
  scanloom::SessionOptions options;
  options.threads = 1;
  options.execution = execution;
  auto session = scanloom::Session::load(path.string(), options);
  if (!session) {
    state.SkipWithError(session.error().message().c_str());
    return;
  }
  Subject subject{*session, {}, {}};
  for (const scanloom::ValueInfo& input : subject.session.inputs()) add_feed(subject, input);
  // The first run binds sizes and compiles loops.
  if (auto first = subject.session.run(subject.feeds); !first) {
    state.SkipWithError(first.error().message().c_str());
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(subject.session.run(subject.feeds));
  state.SetItemsProcessed(state.iterations() * subject.steps);
}

std::vector<fs::path> models_below(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == ".onnx") found.push_back(at->path());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::vector<fs::path> paths = argc == 2 ? models_below(argv[1]) : std::vector<fs::path>();
  if (paths.empty()) {
    std::fputs(
        "usage: kernels_bench FOLDER [--benchmark_...]\n"
        "FOLDER must hold .onnx files; bench/models.py writes some\n",
        stderr);
    return 2;
  }
  for (const fs::path& path : paths) {
    const std::string name = path.stem().string();
    for (const auto& [suffix, execution] :
         {std::pair("/stepped", scanloom::Execution::stepped),
          std::pair("/automatic", scanloom::Execution::automatic)})
      benchmark::RegisterBenchmark((name + suffix).c_str(), run_model, path, execution);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
