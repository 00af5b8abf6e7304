// The program of a function, or two that give the same results: one that copies the variables it
// updates in ways that split_updates() does not write in place, and one that copies only the rows
// that are touched. The sizes of a call decide.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "api/specialised.h"
#include "api/split_updates.h"
#include "api/touched_rows.h"

namespace scanloom {

/// A call has no model to blame: turns invalid_model into invalid_argument.
Error of_call(Error error);

/// Thread safe.
class FunctionPrograms {
 public:
  struct Program {
    Specialised versions;
    std::vector<SharedUpdate> updates;  ///< by site
  };

  /// Errors: out_of_memory.
  static Expected<std::shared_ptr<const FunctionPrograms>> make(ir::Module module,
                                                                const UpdateSites& sites,
                                                                const SessionOptions& options);

  /// The versions of the module as it was given.
  [[nodiscard]] const Specialised& whole() const { return whole_->versions; }
  [[nodiscard]] const Program& whole_program() const { return *whole_; }
  /// The program for arguments of these sizes.
  [[nodiscard]] const Program& choose(const std::vector<tensor::Shape>& shapes) const;
  /// Tells how many steps a call has run. Where only the data decide that, the next call expects as
  /// many; the first call copies the variables.
  void note_steps(std::int64_t steps) const { steps_.store(steps, std::memory_order_relaxed); }
  /// Those of the program chosen last.
  [[nodiscard]] const Specialised& used() const {
    return used_.load(std::memory_order_relaxed)->versions;
  }

 private:
  FunctionPrograms() = default;

  std::unique_ptr<const Program> whole_;
  std::unique_ptr<const Program> rows_;  ///< null: there is only one
  TouchedForm form_;                     ///< what rows_ was made from
  mutable std::atomic<const Program*> used_ = nullptr;
  mutable std::atomic<std::int64_t> steps_ = -1;  ///< of the last call
};

}  // namespace scanloom
