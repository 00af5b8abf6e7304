#include "options.h"

#include <iostream>
#include <limits>
#include <mutex>

#include <CLI/CLI.hpp>

#include "failure.h"
#include "interrupt.h"
#include "plain_text.h"
#include "progress_line.h"
#include "validators.h"

namespace scanloom::cli {

void add_model_options(CLI::App& command, ModelArgs& args, bool with_path) {
  if (with_path)
    command
        .add_option("model", args.path, "an ONNX model, an OpenVINO IR (.xml), or a saved function")
        ->required();
  command.add_flag("--interpret", args.interpret,
                   "run node by node with the reference kernels: slow");
  CLI::Option* never = command.add_flag("--no-jit", args.no_jit, "compile no loop to machine code");
  command
      .add_flag("--jit", args.jit,
                "compile every loop that can be compiled, even if it does not pay")
      ->excludes(never);
  command
      .add_option("--numerics", args.numerics,
                  "exact (default), or fast: sums and linear recurrences as trees, products and\n"
                  "sums rounded once")
      ->check(CLI::IsMember({"exact", "fast"}));
  command.add_flag("--no-passes", args.no_passes, "run the program without passes");
  command.add_flag("--no-speculate", args.no_speculate,
                   "take the steps of every loop in order: no thread computes later ones ahead");
  command.add_option("--disable-pass", args.disabled_passes, "skip this pass; may be repeated");
  command.add_flag("--lenient", args.lenient,
                   "accept shadowed names, newer versions and unknown attributes");
  command.add_flag("--strict", args.strict, "reject feeds that give one named size two values");
}

void add_threads_option(CLI::App& command, ModelArgs& args) {
  command
      .add_option("--threads", args.threads, "use at most this many threads (default: all cores)")
      ->check(whole_number(1, 4096));
}

void add_feed_options(CLI::App& command, FeedArgs& args) {
  command
      .add_option("--feed", args.feeds,
                  "NAME=WHAT, where WHAT is x.npy, x.npz:KEY, x.pb, a list such as [[1,2],[3,4]],\n"
                  "a number for all elements, zeros, ones or random; or x.npz alone, whose keys\n"
                  "are names of inputs")
      ->type_name("FEED");
  command
      .add_option("--dim", args.dims,
                  "NAME=SIZE of a symbolic dimension, or INPUT.AXIS=SIZE; 1 where not given")
      ->type_name("DIM");
  command.add_flag("--random", args.random, "feed random numbers to every input without a feed");
  command.add_option("--seed", args.seed, "seed of the random numbers (default: 0)")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
}

void add_limit_options(CLI::App& command, LimitArgs& args) {
  command
      .add_option("--max-steps", args.max_steps,
                  "the most steps that one execution of a loop may take")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
  command.add_option("--deadline", args.deadline, "time limit of a run, in seconds")
      ->check(positive());
  command.add_option("--max-memory", args.max_memory, "memory limit of a run, such as 512MB")
      ->transform(byte_count());
}

std::pair<std::string, std::string> split_assignment(const std::string& option,
                                                     const std::string& text, std::size_t at) {
  if (at == std::string::npos || at == 0)
    fail(Code::invalid_argument, option + ": '" + text + "' is not of the form NAME=VALUE");
  return {text.substr(0, at), text.substr(at + 1)};
}

SessionOptions session_options(const ModelArgs& args) {
  SessionOptions options;
  options.threads = args.threads;
  if (args.no_jit) options.execution = Execution::stepped;
  if (args.jit) options.execution = Execution::compiled;
  if (args.interpret) options.execution = Execution::interpreted;
  if (args.numerics == "fast") options.numerics = Numerics::fast;
  options.optimize = !args.no_passes;
  options.disabled_passes = args.disabled_passes;
  options.speculate = !args.no_speculate;
  options.lenient = args.lenient;
  options.strict = args.strict;
  auto mutex = std::make_shared<std::mutex>();  // any thread may warn
  options.on_warning = [mutex](std::string_view text) {
    const std::scoped_lock lock(*mutex);
    warn(text);
  };
  return options;
}

Session load(const ModelArgs& args) {
  const Waiting waiting("loading " + args.path);
  return Session::load(args.path, session_options(args)).value_or_throw();
}

RunOptions run_options(const LimitArgs& args) {
  RunOptions options;
  options.max_steps = args.max_steps;
  options.deadline = args.deadline;
  options.max_memory = args.max_memory;
  options.cancel = cancel_on_interrupt();
  return options;
}

}  // namespace scanloom::cli
