// Plan: a module after passes with what the planner knows of it before any input is seen.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/module.h"
#include "jit/interface.h"
#include "kernels/kernel.h"
#include "plan/code_cache.h"
#include "plan/step_counts.h"

namespace scanloom::plan {

struct PlanOptions {
  int threads = 1;
  const jit::Plugin* compiler = nullptr;  ///< null: every loop is stepped
  bool always_compile = false;            ///< whether it pays or not
  bool always_parallel_steps = false;     ///< independent steps, however short: for tests
  std::string why_no_compiler = "machine code is switched off";
};

/// Steps of one execution from which on a loop that is one element program is compiled.
std::int64_t min_steps(const PlanOptions& options);

/// Kernels that may run a node, fastest first; the reference kernel always comes after them.
std::span<const kernels::KernelId> candidates(const ir::OpDef& op);

/// A compiled plan. Immutable, except for state that all bindings share: packed constants, compiled
/// loops and bodies, and counts of stepped steps.
struct Plan {
  ir::Module module;
  PlanOptions options;
  mutable kernels::PackCache packs;
  mutable CodeCache<std::string, jit::CompiledLoop> loops;
  /// By whole sources, compared to the last operand: where a shorter key left something out, or two
  /// had the same fingerprint, one body's steps would run in another's code. Most comparisons end
  /// at the first statement, and none is made per step.
  mutable CodeCache<loopnest::BodySource, jit::CompiledBody> bodies;
  mutable StepCounts steps;
};

/// The loop's machine code, compiled or taken from the plan's cache. Thread safe. Errors: those of
/// the compiler and of `may_go_on`, after which it may be asked for again.
Expected<jit::CompiledLoop> compile_loop(const Plan& plan, const jit::LoopSource& source,
                                         const MayGoOn& may_go_on);

/// Returns the cached code or error for the loop; nullopt if it is not in the cache.
std::optional<Expected<jit::CompiledLoop>> find_loop(const Plan& plan,
                                                     const jit::LoopSource& source);

struct Binding;
struct BoundLoop;
struct OutlinedRegion;

/// Code that bindings share, and the parameters that one of them passes (loopnest::parameter).
struct BodyCode {
  jit::CompiledBody code;
  std::vector<std::int64_t> parameters;
};

/// Machine code for the steps of a stepped loop, compiled or taken from the plan's cache. Thread
/// safe. Errors: unsupported (what cannot be part of machine code), those of the compiler and of
/// `may_go_on`, after which it may be asked for again.
Expected<BodyCode> compile_body(const Plan& plan, const Binding& binding, const BoundLoop& loop,
                                const MayGoOn& may_go_on);

/// Compiles an outlined region of such steps; otherwise like compile_body().
Expected<BodyCode> compile_outlined_region(const Plan& plan, const Binding& binding,
                                           const OutlinedRegion& outlined,
                                           const MayGoOn& may_go_on);

/// Code that adds up what each of its statements takes, and the nodes that each computes.
struct TimedBody {
  BodyCode body;
  std::vector<std::vector<ir::NodeId>> nodes;
};
Expected<TimedBody> compile_timed_body(const Plan& plan, const Binding& binding,
                                       const BoundLoop& loop, const MayGoOn& may_go_on);

std::shared_ptr<const Plan> make_plan(ir::Module module, const PlanOptions& options);

/// Errors: invalid_argument (sizes that do not fit the module's, naming inputs and numbers), and
/// whatever inference finds; invalid_model, unsupported; those of `may_go_on`, which is asked while
/// loops are compiled. Thread safe.
Expected<std::shared_ptr<const Binding>> bind(std::shared_ptr<const Plan> plan,
                                              std::span<const tensor::Shape> feed_shapes,
                                              const MayGoOn& may_go_on = {});

/// For people: how the loop is executed, and why not better. What runs have compiled since binding
/// counts.
std::string describe_strategy(const Binding& binding, const BoundLoop& loop);

/// For people: where the loop keeps each carried value from step to step.
std::vector<std::string> describe_states(const Binding& binding, const BoundLoop& loop);

/// The user's node in the words of messages.
std::string describe(const Plan& plan, ir::NodeId node);
/// "1 node", "3 nodes".
std::string counted(std::int64_t count, std::string_view one);
/// Describes scanned value `i` of a loop by its name, or by that of its slices.
std::string describe_scanned(const ir::Module& module, ir::NodeId loop, std::size_t i);
/// Returns advice for a scanned value whose number of slices differs from the number of steps.
std::string missing_slices(std::int64_t steps, std::int64_t slices);
/// Module::describe_step.
std::string describe_step(const Plan& plan, ir::NodeId loop, std::int64_t step);

/// For people: candidates of each node and what is known of each loop.
std::string print(const Plan& plan);
/// For people: code, kernels, buffers with offsets, strategies with reasons.
std::string print(const Binding& binding);
/// For people: the loop nests of each body that is compiled step by step, and of outlined regions,
/// before their passes and after each pass that changed something (loopnest/print.h).
std::string print_nests(const Binding& binding);

}  // namespace scanloom::plan
