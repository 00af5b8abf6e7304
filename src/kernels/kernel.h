// KernelDef: one hand-tuned kernel. Binding calls `prepare` once, to ask whether the kernel takes
// the bound operands; a run calls `run` once per step. list.inc names every kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/cpu.h"
#include "base/refusal.h"
#include "kernels/pack_cache.h"
#include "kernels/row_program.h"
#include "tensor/call.h"
#include "tensor/scalar.h"

namespace scanloom::kernels {

struct ConvPair;

enum class KernelId : std::uint8_t {
#define SCANLOOM_KERNEL(name) name,
#include "kernels/list.inc"
#undef SCANLOOM_KERNEL
};

/// Everything binding knows about a call: sizes, strides, dtypes, and the data of constants.
struct PrepareCtx {
  std::span<const tensor::Operand> inputs;   ///< without slots yet, except whether there is one
  std::span<const tensor::Operand> outputs;  ///< see KernelDef::leaves_out_unread
  std::span<const void* const> constants;    ///< per input: its first element, or null
  std::span<const tensor::Attr> attrs;
  /// The program of a pointwise operator, or of what follows a convolution (conv_epilogue.h).
  const tensor::ScalarProgram* program = nullptr;
  PackCache* packs = nullptr;        ///< shared by all bindings of a plan
  const RowProgram* rows = nullptr;  ///< for several nodes in one call
  Isa isa = active_isa();            ///< the instruction set to choose functions for
  const ConvPair* pair = nullptr;    ///< for two convolutions in one call (conv_pair.h)
};

/// `why_not` is set if the kernel declines; binding records it and asks the next candidate.
struct Prepared {
  std::optional<Refusal> refusal = std::nullopt;
  std::shared_ptr<const void> state;  ///< becomes Call::prepared
  std::int64_t scratch_bytes = 0;
  tensor::KernelFn run = nullptr;  ///< if set, called instead of KernelDef::run
  /// Bits of inputs whose data the kernel has packed and does not read when it runs, or only with
  /// functions of any_address.h.
  std::uint32_t packed = 0;

  static Prepared no(Refusal refusal) { return {.refusal = std::move(refusal)}; }
};

struct KernelDef {
  const char* name;
  const char* doc;
  Prepared (*prepare)(const PrepareCtx&);
  tensor::KernelFn run;
  bool reassociates = false;  ///< may differ from the reference in the last bits
  /// Results other than the first are absent if nothing reads them.
  bool leaves_out_unread = false;
  /// Asks for constants only to pack them once per plan. Those that a binding computes, such as
  /// states of zeros for its batch, are not passed to it: they would keep it from packing the
  /// others.
  bool packs_constants = false;
  /// Whether it packs constants at any address, too; null: never. Where `packed` does not name such
  /// a constant, it is asked again with an aligned one.
  bool (*packs_unaligned)(const PrepareCtx&) = nullptr;
};

/// The kernel's definition, from a static table.
const KernelDef& kernel(KernelId id);

}  // namespace scanloom::kernels
