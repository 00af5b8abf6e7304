// Options of sessions and runs, and the progress and profile that a run reports.
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

/// How a session executes. `automatic` is right for everyone; the others are for testing and
/// debugging.
enum class Execution : std::uint8_t {
  automatic,    ///< compiles loops where that pays, steps through the others
  stepped,      ///< generates no machine code
  interpreted,  ///< the oracle: node by node with reference kernels
  compiled,     ///< compiles every loop that can be compiled, immediately and at any cost
};

/// The guarantee that a session gives about the bits of its results.
enum class Numerics : std::uint8_t {
  exact,  ///< every operation is rounded as written, in the order of the steps
  /// Permits what changes the last bits, for speed: a multiplication and an addition become one
  /// operation with one rounding, and linear recurrences and cumulative sums are computed as trees
  /// over fixed blocks of steps. The bits do not depend on the number of threads. docs/numbers.md
  /// states the error.
  fast,
};

struct SessionOptions {
  int threads = 0;  ///< at most this many threads per run; 0: all cores of the process
  Execution execution = Execution::automatic;
  Numerics numerics = Numerics::exact;  ///< fast: works through passes, so not without `optimize`
  bool optimize = true;                 ///< false: no passes, the module runs as it was read
  std::vector<std::string> disabled_passes = {};
  /// Accept names that shadow outer names; warn of unknown attributes and of versions that are too
  /// new instead of refusing them.
  bool lenient = false;
  /// Refuse feeds that give two sizes to one name that the model declares. By default that is a
  /// warning, and operators report sizes that do not fit.
  bool strict = false;
  std::int64_t seed = 0;  ///< for random operators without a seed of their own
  /// Pairs (input, output): values that a Stream keeps from one push to the next, zero at first.
  std::vector<std::pair<std::string, std::string>> states = {};
  /// Turn values that loops and recurrent layers carry along a sequence of open length into named
  /// states of the session: a stream takes the sequence in pieces of one or more steps and gives
  /// the same bits as the whole. A model that computes across the steps is unsupported; the error
  /// names the node.
  bool low_latency = false;
  /// Let idle threads compute later steps of a long loop from a guess of its state, where that has
  /// proven to pay. They are kept only where the state of the steps in order agrees with theirs bit
  /// for bit, so results do not change. false: the steps of a loop with states are taken in order.
  bool speculate = true;
  /// Inputs with a default value that are fed; see Session::defaults(). Others keep the default.
  std::vector<std::string> fed_defaults = {};
  /// For an OpenVINO IR: the bytes of its .bin, copied, instead of the file next to the model. A
  /// model in memory has no other source of weights. No data: none.
  std::span<const std::byte> weights = {};
  /// Called with every warning, from the thread that causes it; see also Session::warnings().
  std::function<void(std::string_view)> on_warning = {};
};

/// A flag that any thread may set to end a run soon, with Code::cancelled.
class CancelFlag {
 public:
  CancelFlag() = default;
  /// Counts as set while `other`, which must outlive it, is set.
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

/// Progress of the outermost loop that is running.
struct Progress {
  std::string_view node;    ///< the user's name of the loop
  std::int64_t step = 0;    ///< steps done
  std::int64_t steps = -1;  ///< -1: not known
};

/// Bytes that a run without RunOptions::max_memory may take if it begins now: 80 percent of what is
/// left of the machine's memory, of the memory of the cgroups around the process (version 1 or 2)
/// and of its address space limit; at least 64 MiB. Reads system files, which takes tens of
/// microseconds; runs of less than 64 MiB skip this.
[[nodiscard]] SCANLOOM_API std::int64_t default_max_memory() noexcept;

struct RunOptions {
  /// Seconds from the start of the run, polled between steps of loops and within long recurrent
  /// layers, products and convolutions; 0: no deadline.
  double deadline = 0;
  std::int64_t max_steps = -1;  ///< per execution of a loop; -1: 1e8 for loops without trip count
  /// Maximum bytes of this run; 0: default_max_memory(). Interpreted runs count the values they
  /// create, not the temporary memory of operators.
  std::int64_t max_memory = 0;
  const CancelFlag* cancel = nullptr;
  std::function<void(const Progress&)> progress = {};  ///< called about ten times a second
  /// Called about 20 times a second from the thread that runs, also within long layers, where there
  /// is no progress to report; may set `cancel`.
  std::function<void()> on_poll = {};
  bool profile = false;  ///< fills RunReport::profile; ignored by interpreted execution
};

/// Time of one node over a run. Loops include the time of their bodies. If machine code computes
/// several nodes at once, `node` names them all, and a row gives the cost of reading the clock.
struct NodeTime {
  std::string node;
  std::string kernel;
  std::int64_t calls = 0;
  double seconds = 0;
  int depth = 0;  ///< nesting of loops and branches
  /// The nodes that it computes, by their numbers in Session::report.
  std::vector<std::uint32_t> nodes = {};
};

struct RunReport {
  double seconds = 0;
  std::int64_t steps = 0;  ///< of all loops together
  std::vector<NodeTime> profile;
};

}  // namespace scanloom
