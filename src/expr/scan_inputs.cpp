// The inputs of a scan's step, by sequence, output and tap.
#include <scanloom/scan.h>

#include "expr/apply.h"

namespace scanloom {

StepInputs::StepInputs(const ScanOptions& options, std::vector<Expr> all)
    : options_(options), all_(std::move(all)) {
  std::size_t at = 0;
  for (const Sequence& sequence : options_.sequences) {
    const std::size_t taps = sequence.taps.size();
    slices_.push_back(
        taps == 1 ? all_[at]
                  : expr::failed(fail(Code::invalid_argument,
                                      "sequence {} has {} taps: select one with sequence({}, tap)",
                                      slices_.size(), taps, slices_.size())));
    at += taps;
  }
  none_ =
      expr::failed(fail(Code::invalid_argument, "sequences are numbered from 0 and there are {}",
                        options_.sequences.size()));
}

const Expr& StepInputs::operator[](std::size_t sequence) const {
  return sequence < slices_.size() ? slices_[sequence] : none_;
}

Expr StepInputs::sequence(std::size_t sequence, std::int64_t tap) const {
  std::size_t at = 0;
  for (std::size_t i = 0; i < sequence && i < options_.sequences.size(); ++i)
    at += options_.sequences[i].taps.size();
  if (sequence < options_.sequences.size())
    for (std::size_t i = 0; i < options_.sequences[sequence].taps.size(); ++i)
      if (options_.sequences[sequence].taps[i] == tap) return all_[at + i];
  return expr::failed(
      fail(Code::invalid_argument, "there is no tap {} of sequence {}", tap, sequence));
}

Expr StepInputs::state(std::size_t output, std::int64_t tap) const {
  std::size_t at = 0;
  for (const Sequence& sequence : options_.sequences) at += sequence.taps.size();
  for (std::size_t i = 0; i < output && i < options_.initial.size(); ++i)
    at += options_.initial[i].taps.size();
  if (output < options_.initial.size())
    for (std::size_t i = 0; i < options_.initial[output].taps.size(); ++i)
      if (options_.initial[output].taps[i] == tap) return all_[at + i];
  return expr::failed(fail(Code::invalid_argument, "there is no tap {} of output {}", tap, output));
}

Expr StepInputs::captured(std::size_t i) const {
  if (i < options_.captured.size()) return all_[all_.size() - options_.captured.size() + i];
  return expr::failed(fail(Code::invalid_argument, "there is no captured value {}", i));
}

}  // namespace scanloom
