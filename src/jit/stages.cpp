#include "jit/stages.h"

#include <algorithm>
#include <cstdint>

#include "jit/emit_math.h"

namespace scanloom::jit {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;
using Mask = std::uint64_t;  // a set of states

constexpr std::size_t kMaxStates = 64;
/// Upper bound on crossing registers: a chunk of steps of them must stay in the L1 cache.
constexpr std::size_t kMaxCrossing = 16;
constexpr int kMaxStages = 8;

/// Division and functions, for which a vector takes hardly longer than one element.
bool is_heavy(const ScalarInstr& instr) {
  return is_floating_point(instr.dtype) &&
         (tensor::is_function(instr.op) || instr.op == ScalarOp::div || instr.op == ScalarOp::sqrt);
}

/// Less work than this, in additions, is not worth two passes over a buffer.
constexpr int kMinWork = 20;
int work_of(const ScalarInstr& instr) {
  if (!is_heavy(instr)) return 1;
  return tensor::is_function(instr.op) ? 20 : 6;
}

class Cutter {
 public:
  explicit Cutter(const LoopSource& source)
      : source_(source),
        program_(source.program),
        inputs_(program_.inputs.size()),
        first_state_(source.captured.size()),
        states_(source.carried.size()) {}

  std::optional<Stages> run() {
    if (source_.lanes != 1 || source_.has_keep_going || states_ > kMaxStates) return std::nullopt;
    if (std::ranges::none_of(program_.instrs, is_heavy)) return std::nullopt;
    find_recurrences();
    if (!assign_stages()) return std::nullopt;
    find_crossing();
    if (stages_.crossing.size() > kMaxCrossing || !pays()) return std::nullopt;
    return std::move(stages_);
  }

 private:
  [[nodiscard]] std::size_t registers() const { return inputs_ + program_.instrs.size(); }
  [[nodiscard]] std::int32_t next_of(std::size_t state) const { return program_.results[state]; }
  [[nodiscard]] std::int32_t row(std::size_t stacked) const {
    return program_.results[states_ + stacked];
  }
  [[nodiscard]] bool is_state(std::size_t reg) const {
    return reg >= first_state_ && reg < first_state_ + states_;
  }
  template <class F>
  void for_each_arg(std::size_t reg, F&& f) const {
    if (reg < inputs_) return;
    for (const std::int32_t arg : program_.instrs[reg - inputs_].args)
      if (arg >= 0) f(static_cast<std::size_t>(arg));
  }

  /// Finds which registers recur: a register does if it depends on a state that depends on it.
  void find_recurrences() {
    std::vector<Mask> reads(registers()), feeds(registers());  // within one step
    for (std::size_t i = 0; i < states_; ++i) reads[first_state_ + i] = Mask{1} << i;
    for (std::size_t reg = inputs_; reg < registers(); ++reg)
      for_each_arg(reg, [&](std::size_t arg) { reads[reg] |= reads[arg]; });
    for (std::size_t i = 0; i < states_; ++i)
      feeds[static_cast<std::size_t>(next_of(i))] |= Mask{1} << i;
    for (std::size_t reg = registers(); reg-- > 0;)
      for_each_arg(reg, [&](std::size_t arg) { feeds[arg] |= feeds[reg]; });
    // States that depend on a state, in this step or a later one.
    std::vector<Mask> reached(states_);
    for (std::size_t i = 0; i < states_; ++i) reached[i] = feeds[first_state_ + i] | Mask{1} << i;
    for (std::size_t via = 0; via < states_; ++via)
      for (Mask& mask : reached)
        if ((mask >> via & 1) != 0) mask |= reached[via];
    recurs_.resize(registers());
    for (std::size_t reg = 0; reg < registers(); ++reg)
      for (std::size_t i = 0; i < states_; ++i)
        if ((feeds[reg] >> i & 1) != 0 && (reached[i] & reads[reg]) != 0) recurs_[reg] = true;
  }

  [[nodiscard]] int stage_of(std::size_t reg) const {
    const std::vector<int>& stages = stages_.of;
    if (is_state(reg))
      return Stages::even_from(stages[static_cast<std::size_t>(next_of(reg - first_state_))]);
    if (reg < inputs_) return reg < first_state_ ? Stages::kInvariant : 0;
    int last = Stages::kInvariant;
    for_each_arg(reg, [&](std::size_t arg) { last = std::max(last, stages[arg]); });
    if (last == Stages::kInvariant) return last;
    if (recurs_[reg]) return Stages::even_from(last);
    return last % 2 == 0 && is_heavy(program_.instrs[reg - inputs_]) ? last + 1 : last;
  }

  /// Raises stages until each fits those that it reads. This terminates: all stages of a recurrence
  /// are even, and an even one is raised no further than what it reads.
  bool assign_stages() {
    stages_.of.assign(registers(), Stages::kInvariant);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t reg = 0; reg < registers(); ++reg) {
        const int stage = std::max(stages_.of[reg], stage_of(reg));
        if (stage > kMaxStages) return false;
        changed |= stage != stages_.of[reg];
        stages_.of[reg] = stage;
      }
    }
    const int last = *std::ranges::max_element(stages_.of);
    stages_.count = Stages::even_from(last) + 1;
    return last > 0;
  }

  void find_crossing() {
    std::vector<bool> crosses(registers());
    const auto read = [&](std::size_t reg, int stage) {
      if (stages_.of[reg] != Stages::kInvariant && stages_.of[reg] != stage) crosses[reg] = true;
    };
    for (std::size_t reg = inputs_; reg < registers(); ++reg)
      for_each_arg(reg, [&](std::size_t arg) { read(arg, stages_.of[reg]); });
    for (std::size_t i = 0; i < states_; ++i)
      read(static_cast<std::size_t>(next_of(i)), stages_.of[first_state_ + i]);
    for (std::size_t i = 0; i < source_.stacked.size(); ++i)
      if (stages_.of[static_cast<std::size_t>(row(i))] % 2 == 1)
        crosses[static_cast<std::size_t>(row(i))] = true;
    for (std::size_t reg = 0; reg < registers(); ++reg)
      if (crosses[reg]) stages_.crossing.push_back(static_cast<std::int32_t>(reg));
  }

  [[nodiscard]] bool pays() const {
    int work = 0;
    for (std::size_t reg = inputs_; reg < registers(); ++reg)
      if (stages_.of[reg] % 2 == 1) work += work_of(program_.instrs[reg - inputs_]);
    return work >= kMinWork && work >= 4 * static_cast<int>(stages_.crossing.size());
  }

  const LoopSource& source_;
  const tensor::ScalarProgram& program_;
  const std::size_t inputs_, first_state_, states_;
  std::vector<bool> recurs_;
  Stages stages_;
};

}  // namespace

std::optional<Stages> cut_into_stages(const LoopSource& source) { return Cutter(source).run(); }

}  // namespace scanloom::jit
