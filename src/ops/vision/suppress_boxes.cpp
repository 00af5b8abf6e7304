// Boxes are kept by descending score, the first of equal ones first. A box that overlaps a kept one
// by more than the threshold is suppressed; with sigma its score is multiplied by
// exp(-overlap^2 / (2 sigma)) instead, for each kept box from the latest to the first one, and the
// box is kept when no other has a greater score.
#include <limits>
#include <optional>

#include "base/math/math.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/vision/box_scores.h"

namespace scanloom::ops {
namespace {
namespace suppress_boxes {

using tensor::Operand;
using tensor::Status;

enum InputIndex : int { kBoxes, kScores, kMaxPerClass, kOverlapThreshold, kScoreThreshold, kSigma };
enum AttrIndex : int { kForm, kCandidates, kMargin, kTouching, kInclusive, kEta };

constexpr float kDropped = -std::numeric_limits<float>::infinity();

Expected<void> infer(ir::InferCtx& ctx) {
  for (const int i : {kMaxPerClass, kOverlapThreshold, kScoreThreshold, kSigma}) {
    if (!ctx.has(i)) continue;
    const DType wanted = i == kMaxPerClass ? DType::i64 : DType::f32;
    if (ctx.dtype(i) != wanted)
      return invalid_model("input {} has elements of type {}, not {}", i, dtype_name(ctx.dtype(i)),
                           dtype_name(wanted));
    SCANLOOM_CHECK_OK(check_elements(ctx, i, 1, fmt::format("input {}", i)));
  }
  return set_box_scores(ctx, ctx.attr(kForm).text());
}

template <class T>
std::optional<T> scalar_of(const tensor::Call& call, int i) {
  return call.has(i) ? std::optional(*call.in(i).data<const T>()) : std::nullopt;
}

struct Rule {
  OverlapRule overlap;
  std::int64_t candidates = -1, max_per_class = std::numeric_limits<std::int64_t>::max();
  float threshold = 0, eta = 1, scale = 0;
  std::optional<float> least_score;
  bool inclusive = false;

  explicit Rule(const tensor::Call& call) {
    overlap.form = box_form(call.attrs[kForm].text());
    overlap.margin = static_cast<float>(call.attrs[kMargin].real());
    overlap.touching = call.attrs[kTouching].integer() != 0;
    candidates = call.attrs[kCandidates].integer();
    inclusive = call.attrs[kInclusive].integer() != 0;
    eta = static_cast<float>(call.attrs[kEta].real());
    max_per_class = scalar_of<std::int64_t>(call, kMaxPerClass).value_or(max_per_class);
    threshold = scalar_of<float>(call, kOverlapThreshold).value_or(0);
    least_score = scalar_of<float>(call, kScoreThreshold);
    const float sigma = scalar_of<float>(call, kSigma).value_or(0);
    if (sigma > 0) scale = -0.5F / sigma;
  }
  [[nodiscard]] bool is_soft() const { return scale != 0; }
  [[nodiscard]] bool counts(float score) const {
    return !least_score || (inclusive ? score >= *least_score : score > *least_score);
  }
};

/// The selection in one class of one image. Scores decay in memory.values.
class Selection {
 public:
  Selection(const Rule& rule, BoxMemory& memory) : rule_(rule), memory_(memory) {}

  /// Replaces the scores of `count` boxes by what is left of them. Returns false if the call is to
  /// stop.
  bool select(const ScoreRow& scores, std::int64_t count, const ScoreRow& result,
              const tensor::Call& call) {
    begin(scores, count);
    float threshold = rule_.threshold;
    while (left_ > 0 && kept_ < rule_.max_per_class) {
      if (call.stop_requested()) return false;
      std::pop_heap(heap(), heap() + left_, *this);
      const std::int64_t box = heap()[--left_];
      const float before = memory_.values[box];
      if (!decay(box, threshold)) continue;
      if (rule_.eta < 1 && threshold > 0.5F) threshold *= rule_.eta;
      if (memory_.values[box] == before) {
        memory_.kept[kept_++] = box;
        result[box] = before;
      } else if (rule_.counts(memory_.values[box])) {
        heap()[left_++] = box;
        std::push_heap(heap(), heap() + left_, *this);
      }
    }
    return true;
  }

  /// Whether a comes after b.
  bool operator()(std::int64_t a, std::int64_t b) const {
    const float x = memory_.values[a], y = memory_.values[b];
    return x < y || (x == y && a > b);
  }

 private:
  [[nodiscard]] std::int64_t* heap() const { return memory_.order.get(); }

  void begin(const ScoreRow& scores, std::int64_t count) {
    left_ = kept_ = 0;
    for (std::int64_t box = 0; box < count; ++box) {
      const float score = scores[box];
      memory_.values[box] = score;
      memory_.seen[box] = 0;
      if (score == score && rule_.counts(score)) heap()[left_++] = box;
    }
    if (rule_.candidates >= 0) left_ = best_first(heap(), left_, rule_.candidates, scores);
    std::make_heap(heap(), heap() + left_, *this);
  }

  /// Compares the box with those kept since it was last compared. Returns false if it is
  /// suppressed.
  bool decay(std::int64_t box, float threshold) {
    float& score = memory_.values[box];
    const std::int64_t first = memory_.seen[box];
    memory_.seen[box] = kept_;
    for (std::int64_t i = kept_ - 1; i >= first; --i) {
      const float common =
          overlap(rule_.overlap, memory_.boxes[box], memory_.boxes[memory_.kept[i]]);
      if (!rule_.is_soft()) {
        if (rule_.inclusive ? common >= threshold : common > threshold) return false;
        continue;
      }
      score *= math::exp(rule_.scale * common * common);
      if (!rule_.counts(score)) return false;
    }
    return true;
  }

  const Rule& rule_;
  BoxMemory& memory_;
  std::int64_t left_ = 0, kept_ = 0;
};

Status reference(const tensor::Call& call) noexcept {
  const Operand &boxes = call.in(kBoxes), &scores = call.in(kScores), &y = call.out(0);
  const Rule rule(call);
  const std::int64_t count = boxes.dims[1];
  BoxMemory memory(count);
  if (!memory) return call.fail("there is no memory for {} boxes", count);
  Selection selection(rule, memory);
  for (std::int64_t image = 0; image < y.dims[0]; ++image) {
    memory.read(rule.overlap, boxes, image);
    for (std::int64_t of_class = 0; of_class < y.dims[1]; ++of_class) {
      const ScoreRow result = ScoreRow::of(y, image, of_class);
      for (std::int64_t box = 0; box < count; ++box) result[box] = kDropped;
      if (!selection.select(ScoreRow::of(scores, image, of_class), count, result, call))
        return Status::stopped;
    }
  }
  return call.ok_or_stopped();
}

}  // namespace suppress_boxes
}  // namespace

constinit const ir::OpDef suppress_boxes_op{
    .name = "suppress_boxes",
    .doc =
        "The scores [batch, class, box], -inf where a box is dropped: its score is not above "
        "score_threshold or not among the `candidates` best ones of its class (-1: any number), "
        "max_per_class better ones are kept, or its intersection over union with one of them "
        "exceeds iou_threshold. With sigma scores decay by that instead. Boxes [batch, box, "
        "numbers] are `form` corners, ordered (least before greatest), center or rotated (center, "
        "sides, cosine, sine). `margin` is added to sides; `touching`: boxes apart without it do "
        "not overlap. `inclusive`: equal scores count, and equal overlaps suppress. After each "
        "box kept, a threshold above 0.5 is multiplied by `eta`.",
    .inputs = {{"boxes", ir::Accept::real},
               {"scores", ir::Accept::real},
               {"max_per_class", ir::Accept::index, ir::Arity::optional},
               {"iou_threshold", ir::Accept::real, ir::Arity::optional},
               {"score_threshold", ir::Accept::real, ir::Arity::optional},
               {"sigma", ir::Accept::real, ir::Arity::optional}},
    .outputs = {"kept"},
    .attrs = {{"form", tensor::AttrKind::text},
              {"candidates", tensor::AttrKind::integer},
              {"margin", tensor::AttrKind::real},
              {"touching", tensor::AttrKind::integer},
              {"inclusive", tensor::AttrKind::integer},
              {"eta", tensor::AttrKind::real}},
    .effects = ir::Effects::may_fail,
    .infer = suppress_boxes::infer,
    .reference = suppress_boxes::reference,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
