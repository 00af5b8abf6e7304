// The seam to the loop compiler, which lives in a plug-in of its own and is the only code that
// knows LLVM. The planner describes a loop, the plug-in answers with a machine-code function. No IR
// crosses the seam, so both sides share no tables. There are two forms: a loop whose body is one
// element program over equal lanes (LoopSource), whose states stay in registers; and the body of
// any loop that is stepped (BodySource), whose values lie where the stepped run puts them, so that
// machine code may take over at the beginning of any step.
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

/// Where one operand of the element program lies. Lane i is `lane_stride * i` elements further on;
/// 0: one element for all lanes.
struct LoopOperand {
  DType dtype = DType::f32;
  std::int64_t lane_stride = 1;
  friend bool operator==(const LoopOperand&, const LoopOperand&) = default;
};

/// Inputs of `program`: captured, carried, scanned; its results: keep_going (if any), the next
/// carried values, the stacked rows. A carried value or row with lane stride 0 depends on such
/// inputs only. With has_keep_going, lanes is 1
/// and all strides are 0.
struct LoopSource {
  std::string name;  ///< of the user's node, for the symbol table
  tensor::ScalarProgram program;
  std::vector<LoopOperand> captured, carried, scanned, stacked;
  std::int64_t lanes = 1;
  bool has_keep_going = false;
  Isa isa = active_isa();  ///< to make code for; the plug-in has no say in it
};

/// Addresses of one execution. Strides are bytes from one step to the next and may be negative;
/// scanned and stacked point at the slice of step 0. carried_in and carried_out do not overlap.
struct LoopFrame {
  const std::byte* const* captured;
  const std::byte* const* carried_in;
  std::byte* const* carried_out;
  const std::byte* const* scanned;
  const std::int64_t* scanned_strides;
  std::byte* const* stacked;
  const std::int64_t* stacked_strides;
};

/// Runs steps [first, last) and returns `last`; or -1 - n when keep_going turned false and n is the
/// index after that step. Writes carried_out at the end. Precondition: first < last.
using CompiledLoopFn = std::int64_t (*)(const LoopFrame* frame, std::int64_t first,
                                        std::int64_t last);

/// What the compiler had to translate, which its time goes by: as many instructions in all, and in
/// the longest block without jumps, where the time of some passes grows faster than the length.
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

/// How many levels of loops tell the step in which a kernel has failed.
inline constexpr std::size_t kReportedLevels = 8;

/// What BodyFrame::failed_call says where no kernel has failed.
inline constexpr std::int64_t kStopped = -1;  ///< `poll` said so, after a step of a loop inside
inline constexpr std::int64_t kTooFewSlices = -2;  ///< a loop inside has fewer slices than steps
inline constexpr std::int64_t kStepLimit = -3;     ///< a loop inside has reached its limit

/// What a run lends to the code of a body.
struct BodyFrame {
  std::byte** slots;
  const tensor::HotCall* calls;
  std::int64_t failed_call;        ///< set where a kernel has found a fault, or one of the above
  const std::int64_t* parameters;  ///< see loopnest::parameter
  /// By InnerLoop::index, of those that are not counted: how many steps the code may take before it
  /// polls. It counts down here.
  std::int64_t* steps_to_poll = nullptr;
  /// Called by the code once there are none left, or no time, behind so many steps of that loop, in
  /// that step of the body; sets steps_to_poll. Whether to go on.
  bool (*poll)(BodyFrame* frame, std::int64_t loop, std::int64_t steps,
               std::int64_t body_step) = nullptr;
  /// Steps that an inner loop may take whose number the run decides: one with a trip count, and
  /// one without an end.
  std::int64_t max_counted = 0, max_endless = 0;
  std::int64_t failed_loop = 0;    ///< InnerLoop::index, where no kernel has failed
  std::int64_t failed_trips = 0;   ///< how many steps it was to take, where it is at fault
  std::uint64_t* ticks = nullptr;  ///< of each statement, where the code is timed
  /// About how long statements that are counted may take in all: the code polls after the step of
  /// an inner loop that is not counted, or returns behind the step of the body, that goes beyond
  /// it.
  std::int64_t time_left = std::numeric_limits<std::int64_t>::max();
  /// Set along with failed_call: the step of the body, then of each loop inside around the call.
  std::int64_t failed_steps[kReportedLevels] = {};
};

/// Runs steps [first, last), leaving the slots as the next step needs them. Returns `last`, or,
/// where no time is left, the next step; or
/// -1 - n when keep_going turned false and n is the index after that step; or kBodyFault when a
/// kernel has failed. Precondition: first < last.
using CompiledBodyFn = std::int64_t (*)(BodyFrame* frame, std::int64_t first, std::int64_t last);
inline constexpr std::int64_t kBodyFault = std::numeric_limits<std::int64_t>::min();

/// Owns the machine code.
struct CompiledBody {
  CompiledBodyFn run = nullptr;
  std::string target;
  std::shared_ptr<void> code;
  CodeSize size;
};

/// Versioned entry point of the plug-in, "scanloom_jit_plugin".
struct Plugin {
  std::uint32_t version;
  /// Errors: unsupported (an instruction or dtype that has no machine code), internal.
  /// Thread safe. The same source yields code with the same results.
  Expected<CompiledLoop> (*compile)(const LoopSource& source);
  /// The same of a body.
  Expected<CompiledBody> (*compile_body)(const loopnest::BodySource& source);
  /// Whether there is machine code for the program. Errors: unsupported, which says what is
  /// missing. Thread safe.
  Expected<void> (*check)(const tensor::ScalarProgram& program);
  /// Makes what the compiler keeps for as long as the process lives, which it would make with its
  /// first code. Thread safe.
  void (*prepare)();
};

/// Of what crosses the seam beside the instructions of programs, and of what these compute: the
/// formulas of base/math are in the plug-in as well.
inline constexpr std::uint32_t kSeamVersion = 13;

/// Instructions cross the seam as numbers: with others, or in another order, it is another version.
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

// What the planner weighs code by, and the compiler writes it by.

constexpr std::size_t vector_registers(Isa isa) {
  return isa == Isa::avx512 || isa == Isa::neon ? 32 : 16;
}
/// Of one of them.
constexpr unsigned vector_bytes(Isa isa) {
  return isa == Isa::avx512 ? 64 : isa == Isa::avx2 ? 32 : 16;
}
/// To be called before code is made in another thread. What the process frees as it ends goes in
/// the reverse of the order in which it was made: what the compiler keeps has to be older than what
/// waits for the thread (base/background.h), else it would be freed while the thread reads it.
inline void prepare(const Plugin& plugin) { plugin.prepare(); }

}  // namespace scanloom::jit
