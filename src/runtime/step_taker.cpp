#include "runtime/step_taker.h"

#include <cstring>

namespace scanloom::runtime {
namespace {

/// Vectors of states are loaded at any address, fastest at one that no cache line crosses.
constexpr std::int64_t kBufferAlignment = 64;

constexpr std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

}  // namespace

WholeLoopSteps::WholeLoopSteps(const WholeLoop& whole, const plan::Speculation& speculation,
                               std::span<std::byte* const> buffers)
    : whole_(whole),
      speculation_(speculation),
      buffers_(buffers.begin(), buffers.end()),
      in_(speculation.states.size()),
      out_(speculation.states.size()) {
  if (!buffers_.empty()) return;
  std::int64_t bytes = kBufferAlignment;
  for (const auto& state : speculation.states) bytes += 2 * aligned(state.bytes);
  own_.resize(static_cast<std::size_t>(bytes));
  const auto first = reinterpret_cast<std::uintptr_t>(own_.data());
  std::byte* at = own_.data() + (kBufferAlignment - first % kBufferAlignment) % kBufferAlignment;
  for (const auto& state : speculation.states)
    for (int i = 0; i < 2; ++i) buffers_.push_back(at), at += aligned(state.bytes);
}

void WholeLoopSteps::begin(std::int64_t, std::span<const std::byte> state) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(speculation_.states[i].bytes);
    if (bytes > 0) std::memcpy(this->state(i), state.data() + at, bytes);
    at += bytes;
  }
}

void WholeLoopSteps::begin(std::span<const std::byte* const> states) {
  for (std::size_t i = 0; i < in_.size(); ++i)
    if (const std::int64_t bytes = speculation_.states[i].bytes; bytes > 0)
      std::memcpy(state(i), states[i], static_cast<std::size_t>(bytes));
}

bool WholeLoopSteps::take(std::int64_t first, std::int64_t last) {
  for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = state(i);
  flipped_ = !flipped_;
  for (std::size_t i = 0; i < in_.size(); ++i) out_[i] = state(i);
  const jit::LoopFrame frame{whole_.captured.data(),
                             in_.data(),
                             out_.data(),
                             whole_.scanned.data(),
                             whole_.scanned_strides.data(),
                             whole_.stacked.data(),
                             whole_.stacked_strides.data()};
  whole_.code.run(&frame, first, last);
  return true;
}

void WholeLoopSteps::save(std::span<std::byte> state) const {
  std::size_t at = 0;
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(speculation_.states[i].bytes);
    if (bytes > 0) std::memcpy(state.data() + at, this->state(i), bytes);
    at += bytes;
  }
}

}  // namespace scanloom::runtime
