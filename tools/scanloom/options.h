// Options that several commands share.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <scanloom/options.h>
#include <scanloom/session.h>

namespace CLI {
class App;
}

namespace scanloom::cli {

struct ModelArgs {
  std::string path;
  int threads = 0;
  bool interpret = false;
  bool no_jit = false;
  bool jit = false;
  std::string numerics = "exact";
  bool no_passes = false;
  bool no_speculate = false;
  bool lenient = false;
  bool strict = false;
  std::vector<std::string> disabled_passes;
};

struct FeedArgs {
  std::vector<std::string> feeds;  ///< NAME=WHAT, or an .npz file whose keys are names
  std::vector<std::string> dims;   ///< NAME=SIZE or INPUT.AXIS=SIZE
  bool random = false;             ///< random numbers for inputs without a feed
  std::uint64_t seed = 0;
};

struct LimitArgs {
  std::int64_t max_steps = -1;
  double deadline = 0;
  std::int64_t max_memory = 0;  ///< bytes; 0: default_max_memory()
};

/// Adds the options of a model, and the model's path unless `with_path` is false.
void add_model_options(CLI::App& command, ModelArgs& args, bool with_path = true);
void add_threads_option(CLI::App& command, ModelArgs& args);
void add_feed_options(CLI::App& command, FeedArgs& args);
void add_limit_options(CLI::App& command, LimitArgs& args);

/// Splits NAME=WHAT at the '=' at `at`. Throws Failure if there is none, or no name before it.
std::pair<std::string, std::string> split_assignment(const std::string& option,
                                                     const std::string& text, std::size_t at);

/// Returns options of a session that prints its warnings to stderr.
SessionOptions session_options(const ModelArgs& args);
/// Loads the model; shows on a terminal if that takes long. Throws Failure.
Session load(const ModelArgs& args);
/// Returns options of a run that Ctrl-C ends.
RunOptions run_options(const LimitArgs& args);

}  // namespace scanloom::cli
