// Plan: a module after passes with what the planner knows of it before any input is seen.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ir/module.h"
#include "jit/interface.h"
#include "kernels/kernel.h"

namespace scanloom::plan {

/// Compiles loops, or says why not; null: every loop is stepped.
using CompileFn = Expected<jit::CompiledLoop> (*)(const jit::LoopSource& source);

struct PlanOptions {
  int threads = 1;
  CompileFn compile = nullptr;
  std::string why_no_compiler = "machine code is switched off";
};

/// Kernels that may run a node, fastest first; the reference kernel always comes after them.
std::span<const kernels::KernelId> candidates(const ir::OpDef& op);

/// Machine code, or why there is none, of a source with these contents.
struct CompiledEntry {
  std::string key;
  Expected<jit::CompiledLoop> loop;
};

/// Immutable but for two caches that all bindings share: packed constants and compiled loops.
struct Plan {
  static constexpr std::size_t kCompiledLoops = 64;

  ir::Module module;
  PlanOptions options;
  mutable kernels::PackCache packs;
  mutable std::mutex compiled_mutex;
  mutable std::vector<CompiledEntry> compiled;  ///< the last used first, kCompiledLoops at most
};

/// The loop's machine code, compiled or taken from the plan's cache. Thread safe. Errors: those of
/// the compiler.
Expected<jit::CompiledLoop> compile_loop(const Plan& plan, const jit::LoopSource& source);

struct Binding;

std::shared_ptr<const Plan> make_plan(ir::Module module, const PlanOptions& options);

/// Errors: invalid_argument (sizes that do not fit the module's, naming inputs and numbers), and
/// whatever inference finds; invalid_model, unsupported. Thread safe.
Expected<std::shared_ptr<const Binding>> bind(std::shared_ptr<const Plan> plan,
                                              std::span<const tensor::Shape> feed_shapes);

/// The user's node in the words of messages.
std::string describe(const Plan& plan, ir::NodeId node);

/// For people: candidates of each node and what is known of each loop.
std::string print(const Plan& plan);
/// For people: code, kernels, buffers with offsets, strategies with reasons.
std::string print(const Binding& binding);

}  // namespace scanloom::plan
