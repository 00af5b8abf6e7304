// Plan: a module after passes with what the planner knows of it before any input is seen.
#pragma once

#include <map>
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

struct Plan {
  ir::Module module;
  PlanOptions options;
  mutable kernels::PackCache packs;
  mutable std::mutex compiled_mutex;
  mutable std::map<std::string, Expected<jit::CompiledLoop>> compiled;  ///< by contents of source
};

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
