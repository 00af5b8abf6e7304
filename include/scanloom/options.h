// Options of sessions and runs, and what a run reports while it works.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <scanloom/api.h>

namespace scanloom {

/// How a session executes. `automatic` is right for everyone; the others serve tests and doubts.
enum class Execution : std::uint8_t {
  automatic,    ///< loops compiled where that pays, stepped otherwise
  stepped,      ///< no machine code is generated
  interpreted,  ///< the oracle: node by node with reference kernels
  compiled,     ///< every loop compiled that can be, at once, whatever that costs
};

struct SessionOptions {
  int threads = 0;  ///< at most this many threads per run; 0: all cores of the process
  Execution execution = Execution::automatic;
  bool optimize = true;  ///< false: no passes, the module runs as it was read
  std::vector<std::string> disabled_passes = {};
  /// Accept names that shadow outer names; warn of versions that are newer than those known, and of
  /// unknown attributes, instead of refusing them.
  bool lenient = false;
  /// Refuse feeds that give two sizes to one name that the model declares. By default that is a
  /// warning, and operators say what sizes they need.
  bool strict = false;
  std::int64_t seed = 0;  ///< of the random operators without a seed of their own
  /// Pairs (input, output): values that a Stream keeps from one push to the next, zero at first.
  std::vector<std::pair<std::string, std::string>> states = {};
  /// What loops and recurrent layers carry along a sequence of open length becomes states of the
  /// session, by name: a stream takes the sequence in pieces, of one step or of many, and gives the
  /// bits of the whole. A model that computes across the steps is unsupported, naming the node.
  bool low_latency = false;
  /// Inputs with a default value that are fed: see Session::defaults(). The others keep theirs.
  std::vector<std::string> fed_defaults = {};
  /// Of an IR of OpenVINO: the bytes of its .bin, copied, in place of the file beside it. A model
  /// in memory has no other. No data: none.
  std::span<const std::byte> weights = {};
  /// Called with every warning, from the thread that causes it; see also Session::warnings().
  std::function<void(std::string_view)> on_warning = {};
};

/// Set from any thread to end a run soon, with Code::cancelled.
class CancelFlag {
 public:
  CancelFlag() = default;
  /// Counts as set while `other`, which must outlive it, is set as well.
  explicit CancelFlag(const CancelFlag* other) noexcept : other_(other) {}

  void cancel() noexcept { flag_.store(true, std::memory_order_relaxed); }
  void reset() noexcept { flag_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const noexcept {
    if (flag_.load(std::memory_order_relaxed)) return true;
    return other_ != nullptr && other_->cancelled();
  }

 private:
  std::atomic<bool> flag_{false};
  const CancelFlag* other_ = nullptr;
};

/// How far the outermost loop that is running has come.
struct Progress {
  std::string_view node;    ///< the user's name of the loop
  std::int64_t step = 0;    ///< steps done
  std::int64_t steps = -1;  ///< -1: not known
};

/// Bytes: what a run without RunOptions::max_memory may take if it begins now: 80 percent of what
/// is left of the machine's memory, of that of the cgroups around the process (version 1 or 2) and
/// of the limit on its address space; 64 MiB at least. Reads files of the system: tens of
/// microseconds, which runs of less than 64 MiB do without.
[[nodiscard]] SCANLOOM_API std::int64_t default_max_memory() noexcept;

struct RunOptions {
  /// Seconds from the start of the run, looked at between steps of loops and inside of long
  /// recurrent layers, products and convolutions; 0: none.
  double deadline = 0;
  std::int64_t max_steps = -1;  ///< per execution of a loop; -1: 1e8 for loops without trip count
  /// Bytes of this run; 0: default_max_memory(). Interpreted runs count what they
  /// make of values, not what operators need meanwhile.
  std::int64_t max_memory = 0;
  const CancelFlag* cancel = nullptr;
  std::function<void(const Progress&)> progress = {};  ///< about ten times a second
  bool profile = false;  ///< fills RunReport::profile; not where execution is interpreted
};

/// Time of one node over a run. Loops contain the time of their bodies. Where machine code computes
/// several nodes at once, `node` names them all, and a row says what reading the clock took.
struct NodeTime {
  std::string node;
  std::string kernel;
  std::int64_t calls = 0;
  double seconds = 0;
  int depth = 0;  ///< nesting of loops and branches
};

struct RunReport {
  double seconds = 0;
  std::int64_t steps = 0;  ///< of all loops together
  std::vector<NodeTime> profile;
};

}  // namespace scanloom
