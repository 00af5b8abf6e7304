// The seam to the loop compiler, which lives in a plug-in of its own and is the only code that
// knows LLVM. The planner describes a loop whose body is one element program (LoopSource), the
// plug-in answers with a machine-code function. No IR crosses the seam, so both sides share no
// tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/expected.h"
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
/// carried values, the stacked rows. A carried value with lane stride 0 depends on such inputs
/// only. With has_keep_going, lanes is 1.
struct LoopSource {
  std::string name;  ///< of the user's node, for the symbol table
  tensor::ScalarProgram program;
  std::vector<LoopOperand> captured, carried, scanned, stacked;
  std::int64_t lanes = 1;
  bool has_keep_going = false;
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

/// Owns the machine code.
struct CompiledLoop {
  CompiledLoopFn run = nullptr;
  std::string target;  ///< "x86-64-v4, 512-bit vectors": for `show`
  std::shared_ptr<void> code;
};

/// Versioned entry point of the plug-in, "scanloom_jit_plugin".
struct Plugin {
  std::uint32_t version;
  /// Errors: unsupported (an instruction or dtype that has no machine code), internal.
  /// Thread safe. The same source yields code with the same results.
  Expected<CompiledLoop> (*compile)(const LoopSource& source);
};
inline constexpr std::uint32_t kPluginVersion = 1;

}  // namespace scanloom::jit
