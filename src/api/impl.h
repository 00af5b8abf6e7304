// What stands behind a Session: the plan, its bindings by feed sizes, and for each binding the Runs
// that wait for their next use.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <scanloom/session.h>

#include "base/diagnostics.h"
#include "plan/binding.h"
#include "plan/plan.h"
#include "runtime/run.h"

namespace scanloom {

/// A binding and its idle Runs; runs of the same sizes from several threads take one each.
struct BoundEntry {
  std::vector<tensor::Shape> shapes;
  std::shared_ptr<const plan::Binding> binding;
  std::mutex mutex;
  std::vector<std::unique_ptr<runtime::Run>> idle;
};

/// A module ready to plan, with everything the front-end and the passes had to say.
struct Loaded {
  ir::Module module;
  ModelInfo info;
  std::string text_before;
};

/// Where a model comes from: a path, or bytes that `owner` keeps alive.
struct Source {
  std::string path;
  std::shared_ptr<const void> owner;
  std::string_view bytes;
};

/// Reads and optimises. Errors: the first of what `diagnostics` collects.
Expected<Loaded> load_module(const Source& source, const SessionOptions& options,
                             Diagnostics& diagnostics);

struct Session::Impl {
  SessionOptions options;
  ModelInfo info;
  std::vector<ValueInfo> inputs, outputs;
  std::string text_before;
  std::shared_ptr<const plan::Plan> plan;
  static constexpr std::size_t kIdleRuns = 16;  ///< kept per binding
  static constexpr std::size_t kBindings = 32;  ///< kept; that of the longest disuse goes first

  mutable std::mutex mutex;                                ///< guards the two below
  mutable std::vector<std::shared_ptr<BoundEntry>> bound;  ///< the last used first
  mutable std::vector<std::string> warnings;

  mutable std::atomic<std::uint64_t> runs{0};  ///< begun; what random operators draw by

  [[nodiscard]] std::uint64_t next_run() const {
    return runs.fetch_add(1, std::memory_order_relaxed);
  }
  static Expected<std::shared_ptr<Impl>> make(const Source& source, const SessionOptions& options);
  void warn(std::string text) const;

  /// Feeds in the order of the inputs, checked; `copies` keeps strided ones that had to be copied.
  Expected<std::vector<const std::byte*>> arrange(std::span<const Feed> feeds,
                                                  std::vector<tensor::Shape>& shapes,
                                                  std::vector<tensor::Tensor>& copies) const;
  Expected<std::shared_ptr<BoundEntry>> bind(const std::vector<tensor::Shape>& shapes) const;
  Expected<Results> run(std::span<const Feed> feeds, const RunOptions& options,
                        std::span<const std::string> wanted) const;
  Expected<std::vector<tensor::Tensor>> run_bound(const std::vector<const std::byte*>& feeds,
                                                  const std::vector<tensor::Shape>& shapes,
                                                  const RunOptions& options,
                                                  RunReport& report) const;
  Expected<std::vector<tensor::Tensor>> run_interpreted(const std::vector<const std::byte*>& feeds,
                                                        const std::vector<tensor::Shape>& shapes,
                                                        const RunOptions& options,
                                                        RunReport& report) const;
};

}  // namespace scanloom
