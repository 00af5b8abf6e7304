// Many sequences through a function that updates nothing: its inputs under names of their own, and
// the shared variables that it reads as feeds that all sequences have in common.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <scanloom/many.h>

#include "api/function_programs.h"
#include "api/impl.h"
#include "tensor/tensor.h"

namespace scanloom {

/// Thread safe.
class FunctionSequences {
 public:
  /// `inputs`: the caller's own; shared variables follow. Errors: out_of_memory.
  FunctionSequences(std::shared_ptr<const FunctionPrograms> programs, std::size_t inputs);

  /// The caller's inputs; no two have the same name.
  [[nodiscard]] std::span<const ValueInfo> inputs() const {
    return std::span(model_->inputs).first(inputs_);
  }
  /// `variables`: the values of the shared variables.
  Expected<ManyRuns> run(SequenceSource source, ManyOptions options,
                         const std::vector<tensor::Tensor>& variables) const;

 private:
  std::shared_ptr<const FunctionPrograms> programs_;
  std::size_t inputs_ = 0;
  std::shared_ptr<const Session::Impl> model_;  ///< without passes and with open sizes
};

}  // namespace scanloom
