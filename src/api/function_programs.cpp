#include "api/function_programs.h"

#include <utility>

namespace scanloom {
namespace {

using Program = FunctionPrograms::Program;

Expected<std::unique_ptr<const Program>> program_of(ir::Module module, SplitUpdates split,
                                                    const SessionOptions& options) {
  return std::unique_ptr<const Program>(new Program{
      Specialised(std::move(module), std::move(split.module), options), std::move(split.updates)});
}

/// The sites whose next values are computed as wholes.
UpdateSites whole_sites(const UpdateSites& sites, const std::vector<SharedUpdate>& updates) {
  UpdateSites whole = sites;
  for (std::size_t i = 0; i < updates.size(); ++i)
    if (!updates[i].writes.empty()) whole.arguments[i] = std::nullopt;
  return whole;
}

}  // namespace

Error of_call(Error error) {
  if (error.code() != Code::invalid_model) return error;
  Error told(Code::invalid_argument, error.text());
  for (const std::string& note : error.notes()) told.note(note);
  return told;
}

Expected<std::shared_ptr<const FunctionPrograms>> FunctionPrograms::make(
    ir::Module module, const UpdateSites& sites, const SessionOptions& options) {
  SCANLOOM_CHECK_OK(expect_valid(options));
  std::shared_ptr<FunctionPrograms> programs(new FunctionPrograms());
  SCANLOOM_TRY(SplitUpdates split, split_updates(module, sites));
  programs->form_ = touched_form(module, whole_sites(sites, split.updates));
  if (!programs->form_.tables.empty()) {
    SCANLOOM_TRY(SplitUpdates rows, split_updates(programs->form_.module, sites));
    SCANLOOM_TRY(programs->rows_, program_of(programs->form_.module, std::move(rows), options));
  }
  SCANLOOM_TRY(programs->whole_, program_of(std::move(module), std::move(split), options));
  programs->used_ = programs->whole_.get();
  return std::shared_ptr<const FunctionPrograms>(std::move(programs));
}

const Program& FunctionPrograms::choose(const std::vector<tensor::Shape>& shapes) const {
  const bool by_rows =
      rows_ != nullptr && copies_less(form_, shapes, steps_.load(std::memory_order_relaxed));
  const Program& program = by_rows ? *rows_ : *whole_;
  used_.store(&program, std::memory_order_relaxed);
  return program;
}

}  // namespace scanloom
