// The interface to the loop compiler, a plug-in that is the only code to know LLVM. The planner
// describes a loop and the plug-in returns a machine-code function. No IR of either side crosses
// it. There are two forms. LoopSource: the body is one element program over equal lanes, and states
// stay in registers. BodySource: the body of any loop that runs step by step, with values where the
// stepped run puts them, so that machine code can take over at the start of any step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/expected.h"
#include "loopnest/loopnest.h"
#include "tensor/call.h"
#include "tensor/scalar.h"

namespace scanloom::jit {

/// The layout of one operand of the element program. Lane i is `lane_stride * i` elements on; 0:
/// one element for all lanes.
struct LoopOperand {
  DType dtype = DType::f32;
  std::int64_t lane_stride = 1;
  friend bool operator==(const LoopOperand&, const LoopOperand&) = default;
};

/// Inputs of `program`: captured, carried, scanned. Its results: keep_going (if any), the next
/// carried values, the stacked rows. A carried value or row with lane stride 0 depends only on
/// inputs with lane stride 0. With has_keep_going, lanes is 1 and all strides are 0.
struct LoopSource {
  std::string name;  ///< of the user's node, for the symbol table
  tensor::ScalarProgram program;
  std::vector<LoopOperand> captured, carried, scanned, stacked;
  std::int64_t lanes = 1;
  bool has_keep_going = false;
  Isa isa = active_isa();  ///< to generate code for; the plug-in does not choose it
};

/// The addresses of one execution. Strides are bytes between steps and may be negative; scanned and
/// stacked point at the slice of step 0. carried_in and carried_out do not overlap.
struct LoopFrame {
  const std::byte* const* captured;
  const std::byte* const* carried_in;
  std::byte* const* carried_out;
  const std::byte* const* scanned;
  const std::int64_t* scanned_strides;
  std::byte* const* stacked;
  const std::int64_t* stacked_strides;
};

/// Runs steps [first, last) and returns `last`, or -1 - n if keep_going became false, where n is
/// the index after that step. Writes carried_out at the end. Precondition: first < last.
using CompiledLoopFn = std::int64_t (*)(const LoopFrame* frame, std::int64_t first,
                                        std::int64_t last);

/// The size of the code translated, which determines compile time: instructions in all, and in the
/// longest basic block (the time of some passes grows faster than its length).
struct CodeSize {
  std::size_t instructions = 0, longest_block = 0;
};

/// Owns the machine code.
struct CompiledLoop {
  CompiledLoopFn run = nullptr;
  std::string target;  ///< "x86-64-v4, 512-bit vectors": for `show`
  std::shared_ptr<void> code;
  CodeSize size;
};

/// How many levels of loops report the step in which a kernel has failed.
inline constexpr std::size_t kReportedLevels = 8;

/// Values of BodyFrame::failed_call if no kernel has failed.
inline constexpr std::int64_t kStopped = -1;       ///< `poll` returned false, in an inner loop
inline constexpr std::int64_t kTooFewSlices = -2;  ///< an inner loop has fewer slices than steps
inline constexpr std::int64_t kStepLimit = -3;     ///< an inner loop has reached its limit

/// The data that a run passes to the code of a body.
struct BodyFrame {
  std::byte** slots;
  const tensor::HotCall* calls;
  std::int64_t failed_call;        ///< on failure: the call that failed, or one of the values above
  const std::int64_t* parameters;  ///< see loopnest::parameter
  /// By InnerLoop::index, for loops that are not counted: how many steps the code may take before
  /// it polls. The code counts it down.
  std::int64_t* steps_to_poll = nullptr;
  /// Called when no steps to poll, or no time, are left, after `steps` steps of that loop in step
  /// `body_step` of the body. Sets steps_to_poll; returns whether to continue.
  bool (*poll)(BodyFrame* frame, std::int64_t loop, std::int64_t steps,
               std::int64_t body_step) = nullptr;
  /// Upper bounds on the steps of an inner loop that is not counted: with a trip count, and without
  /// an end.
  std::int64_t max_counted = 0, max_endless = 0;
  std::int64_t failed_loop = 0;    ///< InnerLoop::index, if no kernel has failed
  std::int64_t failed_trips = 0;   ///< the number of steps it was to take
  std::uint64_t* ticks = nullptr;  ///< by statement, if the code is timed
  /// Nanoseconds that charged statements may take in all, as estimated. Once they exceed it, the
  /// code polls after the step of an inner loop that is not counted, or returns after the step of
  /// the body.
  std::int64_t time_left = std::numeric_limits<std::int64_t>::max();
  /// Set along with failed_call: the step of the body, then of each inner loop around the call.
  std::int64_t failed_steps[kReportedLevels] = {};
};

/// Runs steps [first, last), leaving the slots as the next step needs them. Returns `last`; or the
/// next step, if no time is left; or -1 - n if keep_going became false, where n is the index after
/// that step; or kBodyFault if the code has failed. Precondition: first < last.
using CompiledBodyFn = std::int64_t (*)(BodyFrame* frame, std::int64_t first, std::int64_t last);
inline constexpr std::int64_t kBodyFault = std::numeric_limits<std::int64_t>::min();

/// Owns the machine code.
struct CompiledBody {
  CompiledBodyFn run = nullptr;
  std::string target;
  std::shared_ptr<void> code;
  CodeSize size;
};

/// How code is listed for people.
enum class CodeForm : std::uint8_t {
  llvm,              ///< LLVM IR as machine code is generated from it
  llvm_unoptimised,  ///< LLVM IR before LLVM's passes
  assembly,
};

/// The plug-in's versioned entry point, "scanloom_jit_plugin".
struct Plugin {
  std::uint32_t version;
  /// Thread safe. The same source gives code with the same results. Errors: unsupported (an
  /// instruction or dtype without machine code), internal.
  Expected<CompiledLoop> (*compile)(const LoopSource& source);
  /// Compiles a loop's body; otherwise like `compile`.
  Expected<CompiledBody> (*compile_body)(const loopnest::BodySource& source);
  /// Succeeds if there is machine code for the program. Errors: unsupported, which says what is
  /// missing. Thread safe.
  Expected<void> (*check)(const tensor::ScalarProgram& program);
  /// Creates what the compiler keeps for the life of the process; otherwise its first use does
  /// that. Thread safe.
  void (*prepare)();
  /// Generates the code of the source again and returns its text, which begins and ends with whole
  /// lines. Takes about as long as compiling. Thread safe. Errors: those of `compile`.
  Expected<std::string> (*list_loop)(const LoopSource& source, CodeForm form);
  Expected<std::string> (*list_body)(const loopnest::BodySource& source, CodeForm form);
  const char* compiler;  ///< "LLVM 19.1.7"
};

/// The version of all data in this interface except the instructions of programs, and of what these
/// compute: the plug-in contains the formulas of base/math, too.
inline constexpr std::uint32_t kSeamVersion = 15;

/// Instructions are passed as numbers, so other instructions, or another order, change the version.
constexpr std::uint32_t plugin_version() {
  constexpr const char* kNames =
#define SCANLOOM_SCALAR(name, arguments, result) #name " "
#include "tensor/scalar_ops.inc"
#undef SCANLOOM_SCALAR
      ;
  std::uint32_t hash = 2166136261U ^ kSeamVersion;  // FNV-1a
  for (const char* at = kNames; *at != 0; ++at)
    hash = (hash ^ static_cast<unsigned char>(*at)) * 16777619U;
  return hash;
}
inline constexpr std::uint32_t kPluginVersion = plugin_version();

// Used by the planner to weigh code, and by the compiler to generate it.

constexpr std::size_t vector_registers(Isa isa) {
  return isa == Isa::avx512 || isa == Isa::neon ? 32 : 16;
}
/// The bytes of one vector register.
constexpr unsigned vector_bytes(Isa isa) {
  return isa == Isa::avx512 ? 64 : isa == Isa::avx2 ? 32 : 16;
}
/// Must be called before another thread compiles. What the process destroys at exit goes in reverse
/// order of creation, so the compiler's objects must be older than what waits for the thread
/// (base/background.h). Otherwise they would be destroyed while the thread uses them.
inline void prepare(const Plugin& plugin) { plugin.prepare(); }

}  // namespace scanloom::jit
