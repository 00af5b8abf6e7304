#include "runtime/run_memory.h"

#include <optional>

#include "base/checked.h"

namespace scanloom::runtime {
namespace {

/// Errors: limit_reached.
Expected<std::int64_t> checked_fixed_bytes(const plan::Binding& binding) {
  const auto bytes = checked_sum(binding.arena_bytes, binding.scratch_bytes);
  const auto all = bytes ? checked_sum(*bytes, binding.result_bytes) : std::nullopt;
  if (!all) return fail(Code::limit_reached, "the run needs more than 2^63 bytes");
  return *all;
}

}  // namespace

Expected<void> check_fixed_bytes(const plan::Binding& binding, MemoryBudget& budget,
                                 std::int64_t held) {
  SCANLOOM_TRY(const std::int64_t bytes, checked_fixed_bytes(binding));
  if (bytes > budget.bytes()) budget.measure(held);
  if (bytes <= budget.bytes()) return {};
  Error error = fail(Code::limit_reached,
                     "the run needs {} bytes ({} for results), but the memory budget is {} bytes",
                     bytes, binding.result_bytes, budget.bytes());
  if (binding.largest.valid())
    error.note(fmt::format("{} produces the largest value, of {} bytes",
                           plan::describe(*binding.plan, binding.largest), binding.largest_bytes));
  error.note("raise it with the option max_memory");
  return error;
}

Expected<void> RunMemory::begin_run(std::int64_t max_memory, std::int64_t held) {
  total_ = MemoryBudget(max_memory);
  SCANLOOM_CHECK_OK(check_fixed_bytes(binding_, total_, held));
  budget_.limit = total_.bytes() - fixed_bytes();
  account_ = tensor::MemoryAccount(total_.bytes());
  account_.set_make_room([this] {
    if (!raise()) release_kept();
    return bytes_elsewhere();
  });
  data_bytes_ = 0;
  was_short_ = false;
  return {};
}

void RunMemory::begin_worker(const RunMemory& main, std::int64_t workers) {
  // If a worker exceeds its share, the loop continues in order.
  MemoryBudget likely = main.total_;
  likely.measure(main.bytes_elsewhere() + main.account_.held(), /*recent=*/true);
  const std::int64_t left = main.left() + likely.bytes() - main.total_.bytes();
  const std::int64_t share = std::max<std::int64_t>(0, left / (2 * workers));
  data_bytes_ = 0;
  other_bytes_ = main.budget_.used + (workers - 1) * share;
  budget_.limit = budget_.used + share + main.account_.held();
  total_ = MemoryBudget(main.total_.bytes());
  account_ = main.account_;
  account_.set_max_bytes(likely.bytes());
  account_.set_make_room([this] {
    release_kept();
    return bytes_elsewhere();
  });
}

void RunMemory::end_worker() {
  data_bytes_ = std::max(data_bytes_, account_.peak() - fixed_bytes() - other_bytes_);
  account_ = tensor::MemoryAccount(0);
}

bool RunMemory::make_room(std::int64_t bytes) {
  if (fits(bytes)) return true;
  release_kept();
  return fits(bytes);
}

bool RunMemory::raise() {
  const std::int64_t before = total_.bytes();
  if (!total_.measure(bytes_elsewhere() + account_.held())) return false;
  budget_.limit += total_.bytes() - before;
  account_.set_max_bytes(total_.bytes());
  return true;
}

tensor::MemoryAccount& RunMemory::update_account() {
  account_.set_elsewhere(bytes_elsewhere());
  return account_;
}

std::int64_t RunMemory::fixed_bytes() const {
  return binding_.arena_bytes + binding_.scratch_bytes + binding_.result_bytes;
}

std::int64_t RunMemory::bytes_elsewhere() const {
  return fixed_bytes() + budget_.used + other_bytes_;
}

}  // namespace scanloom::runtime
