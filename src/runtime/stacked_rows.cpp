#include "runtime/stacked_rows.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "base/checked.h"
#include "plan/bind/dynamic.h"
#include "plan/port_names.h"
#include "tensor/rows.h"
#include "tensor/strided_copy.h"

namespace scanloom::runtime {

using tensor::ObjectRef;
using tensor::Tensor;

namespace {

/// Initial memory of an open stack with an unknown number of rows: this many rows, and at most this
/// many bytes.
constexpr std::int64_t kFirstRows = 16;
constexpr std::int64_t kMaxFirstBytes = std::int64_t{256} << 20;

std::int64_t bytes_of(const tensor::Shape& dims, DType dtype) {
  return dims.elements() * static_cast<std::int64_t>(dtype_bytes(dtype));
}

Error too_many_rows(const std::string& loop, std::int64_t steps, std::int64_t bytes,
                    std::int64_t left) {
  return fail(Code::limit_reached,
              "{}: the rows of {} steps need {} bytes, but {} bytes of the memory budget are left",
              loop, steps, bytes, left)
      .note("raise it with the option max_memory");
}

/// Copies elements between any two strided layouts.
void copy_strided(DType dtype, const std::byte* from, const tensor::Shape& from_strides,
                  std::byte* to, const tensor::Shape& to_strides, const tensor::Shape& dims) {
  if (dims.elements() == 0) return;
  tensor::copy_strided(dtype, dims.dims(), from, from_strides.data(), to, to_strides.data());
}

}  // namespace

StackedRows::StackedRows(Values& values, RunMemory& memory, DynamicTensors& tensors,
                         Objects& objects, std::span<LoopState> loops)
    : values_(values), memory_(memory), tensors_(tensors), objects_(objects), loops_(loops) {
  for (const plan::BoundLoop& loop : values.binding.loops) kept_.emplace_back(loop.stacked.size());
}

void StackedRows::end_run() {
  for (Kept& rows : kept_)
    for (std::vector<Tensor>& port : rows) port.clear();
}

StackedRows::Kept StackedRows::take_kept(std::uint32_t loop) {
  Kept rows = std::move(kept_[loop]);
  kept_[loop].assign(rows.size(), {});
  return rows;
}

void StackedRows::append_kept(std::uint32_t loop, Kept rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::ranges::move(rows[i], std::back_inserter(kept_[loop][i]));
}

bool StackedRows::is_counted(std::uint32_t index) const {
  return loops_[index].shown >= 0 && !values_.binding.loops[index].keep_going.present();
}

/// Returns the bytes left, including those that the stacks hold, which are reused or freed.
std::int64_t StackedRows::left_for(const plan::BoundLoop& loop) {
  std::int64_t bytes = memory_.left();
  for (const plan::BoundStacked& port : loop.stacked) {
    if (!port.open) continue;
    const auto& storage = values_.dynamic(port.result).storage;
    if (storage && storage.use_count() == 1) bytes += storage->capacity;
  }
  return bytes;
}

Expected<void> StackedRows::check_all(std::uint32_t index) {
  const plan::BoundLoop& loop = values_.binding.loops[index];
  const std::int64_t steps = loops_[index].trip;
  std::int64_t needed = 0;
  for (const plan::BoundStacked& port : loop.stacked) {
    const std::int64_t copies = port.axis != 0 || port.reverse ? 2 : 1;  // see finish()
    const std::int64_t factors[] = {port.open ? port.row_bytes : 0, steps, copies};
    const auto bytes = checked_product(factors);
    const auto sum = bytes ? checked_sum(needed, *bytes) : std::nullopt;
    needed = sum.value_or(std::numeric_limits<std::int64_t>::max());
  }
  if (needed <= left_for(loop)) return {};
  if (memory_.raise() && needed <= left_for(loop)) return {};
  memory_.release_kept();
  if (needed <= left_for(loop)) return {};
  memory_.note_short();
  return too_many_rows(values_.describe(loop.node), steps, needed, left_for(loop));
}

Expected<void> StackedRows::begin(std::uint32_t index) {
  const plan::BoundLoop& loop = values_.binding.loops[index];
  LoopState& state = loops_[index];
  state.room = state.trip;
  const bool counted = is_counted(index);
  if (counted) SCANLOOM_CHECK_OK(check_all(index));
  for (const plan::BoundStacked& port : loop.stacked) {
    if (!port.open) continue;
    const std::int64_t most = std::min(kMaxFirstBytes, memory_.left());
    const std::int64_t fit =
        std::max<std::int64_t>(most / std::max<std::int64_t>(port.row_bytes, 1), 1);
    const std::int64_t rows = counted ? state.trip : std::min({state.trip, kFirstRows, fit});
    tensor::Shape dims = values_.binding.layouts[static_cast<std::size_t>(port.row.layout)].dims;
    dims.insert(0, rows);
    SCANLOOM_CHECK_OK(tensors_.reserve(port.result, dims, loop.node));
    values_.slot(port.row.slot) = values_.slot(port.result.slot);
    state.room = std::min(state.room, rows_that_fit(port));
  }
  return {};
}

std::int64_t StackedRows::rows_that_fit(const plan::BoundStacked& port) {
  if (port.row_bytes == 0) return std::numeric_limits<std::int64_t>::max();
  return values_.dynamic(port.result).storage->capacity / port.row_bytes;
}

Expected<void> StackedRows::grow(std::uint32_t index) {
  const plan::BoundLoop& loop = values_.binding.loops[index];
  LoopState& state = loops_[index];
  state.room = state.trip;
  for (const plan::BoundStacked& port : loop.stacked) {
    if (!port.open) continue;
    if (rows_that_fit(port) <= state.step) {
      DynamicTensor& rows = values_.dynamic(port.result);
      const std::shared_ptr<Storage> old = std::move(rows.storage);
      tensor::Shape dims = rows.dims;
      dims[0] = std::min(2 * state.step, state.trip);
      SCANLOOM_CHECK_OK(tensors_.reserve(port.result, dims, loop.node));
      std::memcpy(rows.storage->bytes.get(), old->bytes.get(),
                  static_cast<std::size_t>(port.row_bytes * state.step));
      values_.slot(port.row.slot) = values_.slot(port.result.slot) + port.row_bytes * state.step;
    }
    state.room = std::min(state.room, rows_that_fit(port));
  }
  return {};
}

/// While rows are gathered, axis 0 of the result counts steps and the other axes are the row's.
Expected<void> StackedRows::begin_gathering(const plan::BoundStacked& port, std::uint32_t index,
                                            const tensor::Shape& dims) {
  const ir::NodeId node = values_.binding.loops[index].node;
  DynamicTensor& rows = values_.dynamic(port.result);
  const std::int64_t axes = dims.rank() + (port.insert ? 1 : 0);
  if (dims.rank() >= tensor::kMaxRank || port.axis >= axes)
    return fail(Code::invalid_argument,
                "{}: stacked rows have sizes {}, which leaves no axis {} below rank {}",
                values_.describe(node), dims.to_string(), port.axis, tensor::kMaxRank);
  rows.storage.reset();
  rows.dims = dims;
  rows.dims.insert(0, 0);
  if (!is_counted(index)) return {};
  // The total size is known.
  const std::int64_t factors[] = {bytes_of(dims, port.result.dtype), loops_[index].trip};
  const std::int64_t all =
      checked_product(factors).value_or(std::numeric_limits<std::int64_t>::max());
  if (!memory_.make_room(all))
    return too_many_rows(values_.describe(node), loops_[index].trip, all, memory_.left());
  return {};
}

Expected<void> StackedRows::check_row(const plan::BoundStacked& port, std::uint32_t index,
                                      const tensor::Shape& dims) {
  tensor::Shape expected = values_.dynamic(port.result).dims;
  expected.erase(0);
  if (expected == dims) return {};
  const plan::BoundLoop& loop = values_.binding.loops[index];
  const auto at = static_cast<std::size_t>(&port - loop.stacked.data());
  const std::string name = plan::describe_stacked(*values_.binding.plan, loop.node, at);
  return tensor::row_that_changes(name, loops_[index].step, dims, expected)
      .at(values_.describe(loop.node));
}

Expected<void> StackedRows::append(const plan::BoundStacked& port, std::uint32_t index) {
  const std::int64_t step = loops_[index].step;
  const ir::NodeId node = values_.binding.loops[index].node;
  DynamicTensor& rows = values_.dynamic(port.result);
  if (step > 0 && port.row_bytes > 0 && rows.storage->capacity >= port.row_bytes * (step + 1)) {
    // The usual row: known sizes, room left, and storage that only this loop has seen.
    std::memcpy(rows.storage->bytes.get() + port.row_bytes * step, values_.address(port.row),
                static_cast<std::size_t>(port.row_bytes));
    rows.dims[0] = step + 1;
    return {};
  }
  const tensor::Operand row = values_.operand(port.row);
  const tensor::Shape dims = row.shape();
  SCANLOOM_CHECK_OK(step == 0 ? begin_gathering(port, index, dims) : check_row(port, index, dims));
  const std::int64_t row_bytes = bytes_of(dims, port.result.dtype);
  const std::int64_t needed = row_bytes * (step + 1);
  if (!rows.storage || rows.storage.use_count() != 1 || rows.storage->capacity < needed) {
    const std::shared_ptr<Storage> old = rows.storage;
    tensor::Shape grown = rows.dims;
    grown[0] = is_counted(index) ? loops_[index].trip : std::max<std::int64_t>(2 * step, 4);
    rows.storage.reset();
    SCANLOOM_CHECK_OK(tensors_.reserve(port.result, grown, node));
    if (old) {
      std::memcpy(rows.storage->bytes.get(), old->bytes.get(),
                  static_cast<std::size_t>(row_bytes * step));
    }
  }
  const tensor::Shape strides(std::span(row.strides, static_cast<std::size_t>(row.rank)));
  copy_strided(port.result.dtype, row.data<const std::byte>(), strides,
               rows.storage->bytes.get() + row_bytes * step, tensor::contiguous_strides(dims),
               dims);
  rows.dims[0] = step + 1;
  return {};
}

Expected<void> StackedRows::finish(const plan::BoundStacked& port, std::int64_t steps,
                                   ir::NodeId node) {
  DynamicTensor& rows = values_.dynamic(port.result);
  const int axis = static_cast<int>(port.axis);
  tensor::Shape dims = rows.dims;  // [steps, row...]
  dims.erase(0);
  tensor::Shape row_strides = tensor::contiguous_strides(dims);
  const std::int64_t row_elements = dims.elements();
  // View the gathered rows with their step axis at its position in the result.
  tensor::Shape from_dims = dims, from_strides = row_strides, result = dims;
  from_dims.insert(axis, steps);
  from_strides.insert(axis, port.reverse ? -row_elements : row_elements);
  if (port.insert) {
    result = from_dims;
  } else {
    result[axis] *= steps;
  }
  const std::shared_ptr<Storage> gathered = rows.storage;
  if (axis == 0 && !port.reverse) {
    rows.dims = result;
    rows.strides = tensor::contiguous_strides(result);
    values_.slot(port.result.slot) = gathered ? gathered->bytes.get() : nullptr;
    return {};
  }
  rows.storage.reset();
  SCANLOOM_CHECK_OK(tensors_.reserve(port.result, result, node));
  if (gathered) {
    const auto size = static_cast<std::int64_t>(dtype_bytes(port.result.dtype));
    const std::byte* first = gathered->bytes.get();
    if (port.reverse) first += (steps - 1) * row_elements * size;
    copy_strided(port.result.dtype, first, from_strides, rows.storage->bytes.get(),
                 tensor::contiguous_strides(from_dims), from_dims);
  }
  return {};
}

Expected<void> StackedRows::keep(std::uint32_t index, std::size_t port) {
  const plan::BoundLoop& loop = values_.binding.loops[index];
  const plan::BoundStacked& stacked = loop.stacked[port];
  std::vector<Tensor>& rows = kept_[index][port];
  SCANLOOM_TRY(Tensor row, values_.tensor_at(stacked.row));
  Expected<void> fits = tensor::check_row(
      rows, row, [&] { return plan::describe_stacked(*values_.binding.plan, loop.node, port); },
      stacked.axis, stacked.insert);
  if (!fits) return std::move(fits).error().at(values_.describe(loop.node));
  tensor::MemoryAccount& account = memory_.update_account();
  if (row.owner() == nullptr) {  // borrowed: its elements will change
    SCANLOOM_CHECK_OK(account.check(bytes_with_text(row)));
    SCANLOOM_TRY(row, Tensor::copy_of(row.dtype(), row.shape(), row.data()));
  }
  // A row that is the same in all steps takes no new memory, but its description does.
  Expected<Tensor> counted = account.count(row);
  if (!counted) return std::move(counted).error().at(values_.describe(loop.node));
  rows.push_back(*std::move(counted));
  return {};
}

Expected<void> StackedRows::join(std::uint32_t index, std::size_t port) {
  const plan::BoundLoop& loop = values_.binding.loops[index];
  const plan::BoundStacked& stacked = loop.stacked[port];
  std::vector<Tensor>& rows = kept_[index][port];
  tensor::MemoryAccount& account = memory_.update_account();
  const auto join = [&]() -> Expected<ObjectRef> {
    SCANLOOM_CHECK_OK(account.check(tensor::bytes_of_rows(rows)));
    SCANLOOM_TRY(Tensor made, tensor::join_rows(rows, static_cast<int>(stacked.axis),
                                                stacked.insert, stacked.reverse));
    memory_.note_taken(bytes_with_text(made));
    rows.clear();
    return objects_.counted(std::move(made));
  };
  Expected<ObjectRef> all = join();
  if (!all) return std::move(all).error().at(values_.describe(loop.node));
  if (!stacked.result.is_object()) return objects_.store(*all, stacked.result, loop.node);
  values_.object(stacked.result) = *std::move(all);
  return {};
}

Expected<void> StackedRows::make_empty(const plan::BoundLoop& loop) {
  if (loop.operands.empty()) return {};
  std::vector<tensor::Tensor> inputs;
  for (const plan::Spot& spot : loop.operands) {
    SCANLOOM_TRY(tensor::Tensor input, values_.tensor_at(spot));
    inputs.push_back(std::move(input));
  }
  SCANLOOM_TRY(const std::vector<tensor::Shape> shapes,
               plan::empty_stacks(*values_.binding.plan, loop.node, inputs));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const plan::Spot& result = loop.stacked[i].result;
    if (result.is_object()) {
      SCANLOOM_TRY(tensor::Tensor empty, tensor::Tensor::zeros(result.dtype, shapes[i]));
      values_.object(result) = tensor::ObjectRef::of(std::move(empty));
    } else if (result.is_dynamic()) {
      SCANLOOM_CHECK_OK(tensors_.reserve(result, shapes[i], loop.node));
    }
  }
  return {};
}

}  // namespace scanloom::runtime
