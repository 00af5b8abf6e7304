// Tasks of a convolution of single channels: several small channels, or some rows of a large one.
#include "kernels/conv_depthwise.h"

#include <algorithm>
#include <array>
#include <memory>

#include "kernels/conv_epilogue.h"
#include "kernels/isa_tables.h"
#include "kernels/product.h"
#include "kernels/share_tasks.h"

namespace scanloom::kernels {

#if defined(__x86_64__)
namespace N_AVX2 {
extern const DepthwiseTables kDepthwiseTables;
}
namespace N_AVX3 {
extern const DepthwiseTables kDepthwiseTables;
}
#endif

namespace {

constexpr DepthwiseTables kNone{};

}  // namespace

const DepthwiseTables& depthwise_tables([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return N_AVX3::kDepthwiseTables;
  if (isa == Isa::avx2) return N_AVX2::kDepthwiseTables;
#endif
  return kNone;
}

template <class T>
std::int64_t Depthwise<T>::copied_row_elements() const {
  constexpr std::int64_t kMaxLanes = 16;
  const std::int64_t phase = std::min(out_width, kDepthwiseColumns) + reach() + kMaxLanes - 1;
  return stride_width * (phase / kMaxLanes * kMaxLanes);
}

template <class T>
std::int64_t Depthwise<T>::copied_elements() const {
  if (!has_strides()) return 0;
  return rows_met(copied_rows) * copied_row_elements() + kCopiedSlack;
}

template struct Depthwise<float>;
template struct Depthwise<double>;

namespace {

using tensor::Call;
using tensor::ConvGeometry;
using tensor::Operand;
using tensor::Status;

constexpr std::int64_t kDepthwiseTasks = 8;        ///< that threads share, if there is enough work
constexpr std::int64_t kResultsTogether = 4096;    ///< of several channels in a task
constexpr std::int64_t kMinTaskRows = 14;          ///< of a task
constexpr std::int64_t kTileRows = 7;              ///< of the tallest tiles
constexpr std::int64_t kCopyBytes = 16 << 10;      ///< of rows of x, half of the L1 cache
constexpr std::int64_t kMaxCopyBytes = 256 << 10;  ///< if those of a tile take more
/// Wider kernels over a line that is short or padded are faster as tiles of padded planes, which
/// have more sums that do not wait for each other.
constexpr std::int64_t kMaxLineKernel = 4, kMinLineColumns = 64;
/// Narrower results leave most of a vector idle, unless rows of padded planes are joined.
constexpr std::int64_t kMinColumns = 6;

template <class T>
using DepthwiseFn = void (*)(const Depthwise<T>&);

template <class T>
DepthwiseFn<T> depthwise_fn(Isa isa) {
  return functions_for<T>(depthwise_tables(isa));
}

template <class T>
struct DepthwiseSchedule {
  DepthwiseFn<T> run = nullptr;
  Depthwise<T> sizes;  ///< without pointers
  std::int64_t batch = 0, group = 0, rows = 0;
  std::int64_t x_image = 0, y_image = 0;
  std::int64_t channels = 1, band = 0;  ///< channels and rows of a task
  std::int64_t chunks = 0, bands = 1;   ///< tasks of an image
  std::int64_t slots = 1;
  ConvEpilogue epilogue;

  [[nodiscard]] std::int64_t copy_bytes() const {
    constexpr std::int64_t kLine = 64;
    const auto bytes = sizes.copied_elements() * std::int64_t{sizeof(T)};
    return (bytes + kLine - 1) / kLine * kLine;
  }
  [[nodiscard]] std::int64_t slot_bytes() const { return copy_bytes() + epilogue.scratch_bytes(); }
};

template <class T>
void run_depthwise_task(const DepthwiseSchedule<T>& plan, const Call& call,
                        const ConvEpilogue::Run& epilogue, std::int64_t number,
                        std::byte* scratch) {
  const std::int64_t band = number % plan.bands, chunk = number / plan.bands % plan.chunks;
  const std::int64_t image = number / plan.bands / plan.chunks, channel = chunk * plan.channels;
  Depthwise<T> s = plan.sizes;
  s.channels = std::min(plan.channels, plan.group - channel);
  s.first = band * plan.band;
  s.last = std::min(plan.rows, s.first + plan.band);
  s.x = call.in(0).data<const T>() + image * plan.x_image + channel * s.x_channel;
  s.weights = call.in(1).data<const T>() + channel * s.w_filter;
  s.y = call.out(0).data<T>() + image * plan.y_image + channel * s.y_filter;
  if (call.has(2)) {
    s.bias_step = call.in(2).strides[0];
    s.bias = call.in(2).data<const T>() + channel * s.bias_step;
  }
  s.copies = reinterpret_cast<T*>(scratch);
  plan.run(s);
  epilogue({.image = image,
            .filter = channel,
            .filters = s.channels,
            .first = s.first * s.out_width,
            .count = (s.last - s.first) * s.out_width},
           scratch + plan.copy_bytes());
}

template <class T>
Status run_depthwise(const Call& call) noexcept {
  const DepthwiseSchedule<T>& plan = *static_cast<const DepthwiseSchedule<T>*>(call.prepared);
  const ConvEpilogue::Run epilogue(plan.epilogue, call);
  const double work = static_cast<double>(plan.channels * plan.band) *
                      static_cast<double>(plan.sizes.out_width) *
                      static_cast<double>(plan.sizes.kernel_rows * plan.sizes.kernel_width);
  return share_tasks(call, plan.batch * plan.chunks * plan.bands, plan.slots, work,
                     [&](std::int64_t task, std::int64_t slot) {
                       run_depthwise_task(plan, call, epilogue, task,
                                          *call.scratch + slot * plan.slot_bytes());
                     });
}

template <class T>
void choose_tasks(DepthwiseSchedule<T>& plan) {
  const std::int64_t results = plan.rows * plan.sizes.out_width;
  const bool shares =
      plan.batch * plan.group * results * plan.sizes.kernel_rows * plan.sizes.kernel_width >
      kMinThreadWork;
  const std::int64_t most =
      std::max<std::int64_t>(shares ? plan.batch * plan.group / kDepthwiseTasks : plan.group, 1);
  plan.channels =
      std::clamp<std::int64_t>(kResultsTogether / results, 1, std::min(most, plan.group));
  plan.chunks = (plan.group + plan.channels - 1) / plan.channels;
  plan.band = plan.rows;
  if (shares && plan.batch * plan.chunks < kDepthwiseTasks) {
    const std::int64_t wanted = kDepthwiseTasks / (plan.batch * plan.chunks);
    plan.band = std::min(plan.rows, std::max((plan.rows + wanted - 1) / wanted, kMinTaskRows));
  }
  plan.bands = (plan.rows + plan.band - 1) / plan.band;
  plan.slots = shares ? std::min(plan.batch * plan.chunks * plan.bands, kDepthwiseTasks) : 1;
}

/// Chooses how many rows of the result have their rows of x copied together. Returns whether these
/// are near enough to each other.
template <class T>
bool choose_copied_rows(DepthwiseSchedule<T>& plan) {
  Depthwise<T>& s = plan.sizes;
  if (!s.has_strides()) return true;
  if (s.reach() > kMaxDepthwiseWidth) return false;
  const std::int64_t row_bytes = s.copied_row_elements() * std::int64_t{sizeof(T)};
  s.copied_rows = std::min(plan.band, kTileRows);
  while (s.copied_rows < plan.band &&
         s.rows_met(s.copied_rows + kTileRows) <= kCopyBytes / row_bytes)
    s.copied_rows += kTileRows;
  s.copied_rows = std::min(s.copied_rows, plan.band);
  return s.rows_met(s.copied_rows) <= kMaxCopyBytes / row_bytes;
}

/// Whether the windows lie along the first spatial axis alone, because there is no other one, or it
/// has a single position without padding.
bool is_line(const ConvGeometry& g) {
  return g.spatial == 1 ||
         (g.spatial == 2 && g.in[1] == 1 && g.out[1] == 1 && g.kernel[1] == 1 && g.pad[1] == 0);
}

/// A line as a plane of one row.
ConvGeometry with_one_row(ConvGeometry g) {
  g.spatial = 2;
  for (auto* sizes : {&g.in, &g.kernel, &g.out, &g.stride, &g.dilation, &g.pad})
    (*sizes)[1] = (*sizes)[0];
  g.in[0] = g.kernel[0] = g.out[0] = g.stride[0] = g.dilation[0] = 1;
  g.pad[0] = 0;
  return g;
}

/// Whether a kernel over a line is wide, and tiles of many vectors cannot cover the result.
bool is_wide_line(const ConvGeometry& g) {
  const bool is_padded = g.pad[1] != 0 || g.out[1] + (g.kernel[1] - 1) * g.dilation[1] > g.in[1];
  return g.kernel[1] > kMaxLineKernel &&
         (g.stride[1] != 1 || is_padded || g.out[1] < kMinLineColumns);
}

/// `column`: elements from one column of x to the next.
const char* why_no_depthwise(const ConvGeometry& g, std::int64_t column) {
  if (g.channels != 1 || g.filters != 1 || g.spatial != 2) return "groups of several channels";
  if (g.batch == 0 || g.group == 0 || g.out[0] < 1) return "nothing to sum";
  if (g.out[1] < kMinColumns) return "few columns";
  if (g.stride[1] > 2 || (g.stride[1] == 2 && g.dilation[1] != 1) ||
      g.kernel[1] > kMaxDepthwiseWidth)
    return "windows that are far apart";
  if (g.in[1] > 1 && column != 1) return "rows that are not contiguous";
  return nullptr;
}

template <class T>
Prepared prepare_typed(const PrepareCtx& ctx, const ConvGeometry& g) {
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[0];
  auto plan = std::make_shared<DepthwiseSchedule<T>>();
  plan->run = depthwise_fn<T>(ctx.isa);
  if (plan->run == nullptr) return Prepared::no("loads that cannot be masked");
  if (auto why = plan->epilogue.prepare(ctx)) return Prepared::no(*std::move(why));
  // The only row of a line is at its beginning.
  plan->sizes = {.x_channel = x.strides[1],
                 .x_row = x.strides[2],
                 .in_rows = g.in[0],
                 .in_width = g.in[1],
                 .w_filter = ctx.inputs[1].strides[0],
                 .kernel_rows = g.kernel[0],
                 .kernel_width = g.kernel[1],
                 .stride_rows = g.stride[0],
                 .stride_width = g.stride[1],
                 .dilation_rows = g.dilation[0],
                 .dilation_width = g.dilation[1],
                 .pad_rows = g.pad[0],
                 .pad_width = g.pad[1],
                 .y_filter = y.strides[1],
                 .out_width = g.out[1]};
  plan->batch = g.batch;
  plan->group = g.group;
  plan->rows = g.out[0];
  plan->x_image = x.strides[0];
  plan->y_image = y.strides[0];
  choose_tasks(*plan);
  if (!choose_copied_rows(*plan)) return Prepared::no("windows that are far apart");
  const std::int64_t bytes = plan->slots * plan->slot_bytes();
  return {.state = std::move(plan), .scratch_bytes = bytes, .run = run_depthwise<T>};
}

}  // namespace

Prepared prepare_conv_depthwise(const PrepareCtx& ctx, const ConvGeometry& geometry) {
  const bool line = is_line(geometry);
  const ConvGeometry plane = line ? with_one_row(geometry) : geometry;
  const std::int64_t column = ctx.inputs[0].strides[line ? 2 : 3];
  if (const char* why = why_no_depthwise(plane, column)) return Prepared::no(why);
  if (line && is_wide_line(plane)) return Prepared::no("a wide kernel over a line");
  return ctx.outputs[0].dtype == DType::f32 ? prepare_typed<float>(ctx, plane)
                                            : prepare_typed<double>(ctx, plane);
}

}  // namespace scanloom::kernels
