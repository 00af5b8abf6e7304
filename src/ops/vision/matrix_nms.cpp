// Each box is compared with all better ones of its class at once. Its score is multiplied by the
// least of their decays, where a box that itself overlaps a better one decays others less.
#include <limits>

#include "base/math/math.h"
#include "ops/ops.h"
#include "ops/vision/box_scores.h"

namespace scanloom::ops {
namespace {
namespace matrix_nms {

using tensor::Operand;
using tensor::Status;

enum AttrIndex : int { kForm, kCandidates, kMargin, kTouching, kScoreThreshold, kSigma };

constexpr float kDropped = -std::numeric_limits<float>::infinity();

Expected<void> infer(ir::InferCtx& ctx) { return set_box_scores(ctx, ctx.attr(kForm).text()); }

struct Decay {
  bool is_gaussian;
  float sigma;
  /// `covered`: how much the better box itself overlaps a better one.
  [[nodiscard]] float of(float overlap, float covered) const {
    if (is_gaussian) return math::exp((covered * covered - overlap * overlap) * sigma);
    return static_cast<float>((1.0 - double{overlap}) / (1.0 - double{covered} + double{1e-10F}));
  }
};

struct Rule {
  OverlapRule overlap;
  std::int64_t candidates;
  float least_score;
  Decay decay;

  explicit Rule(const tensor::Call& call) {
    overlap.form = box_form(call.attrs[kForm].text());
    overlap.margin = static_cast<float>(call.attrs[kMargin].real());
    overlap.touching = call.attrs[kTouching].integer() != 0;
    candidates = call.attrs[kCandidates].integer();
    least_score = static_cast<float>(call.attrs[kScoreThreshold].real());
    decay.is_gaussian = call.attrs[kSigma].present();
    decay.sigma = decay.is_gaussian ? static_cast<float>(call.attrs[kSigma].real()) : 0;
  }
};

/// Returns false if the call is to stop.
bool select(const Rule& rule, BoxMemory& memory, const ScoreRow& scores, std::int64_t count,
            const ScoreRow& result, const tensor::Call& call) {
  std::int64_t* const order = memory.order.get();
  float* const covered = memory.values.get();
  std::int64_t found = 0;
  for (std::int64_t box = 0; box < count; ++box) {
    result[box] = kDropped;
    if (scores[box] > rule.least_score) order[found++] = box;
  }
  found = best_first(order, found, rule.candidates, scores);
  for (std::int64_t i = 0; i < found; ++i) {
    if (call.stop_requested()) return false;
    const OverlapBox& own = memory.boxes[order[i]];
    float most = 0, least = 1;
    for (std::int64_t k = 0; k < i; ++k) {
      const float common = overlap(rule.overlap, own, memory.boxes[order[k]]);
      most = std::max(most, common);
      least = std::min(least, rule.decay.of(common, covered[k]));
    }
    covered[i] = most;
    result[order[i]] = least * scores[order[i]];
  }
  return true;
}

Status reference(const tensor::Call& call) noexcept {
  const Operand &boxes = call.in(0), &scores = call.in(1), &y = call.out(0);
  const Rule rule(call);
  const std::int64_t count = boxes.dims[1];
  BoxMemory memory(count);
  if (!memory) return call.fail("there is no memory for {} boxes", count);
  for (std::int64_t image = 0; image < y.dims[0]; ++image) {
    memory.read(rule.overlap, boxes, image);
    for (std::int64_t of_class = 0; of_class < y.dims[1]; ++of_class)
      if (!select(rule, memory, ScoreRow::of(scores, image, of_class), count,
                  ScoreRow::of(y, image, of_class), call))
        return Status::stopped;
  }
  return call.ok_or_stopped();
}

}  // namespace matrix_nms
}  // namespace

constinit const ir::OpDef matrix_nms_op{
    .name = "matrix_nms",
    .doc =
        "The scores [batch, class, box] of the `candidates` best boxes of each class (-1: any "
        "number) with scores above `score_threshold`, and -inf of the others. The score of a box "
        "is multiplied by the least, over the better ones, of (1 - o) / (1 - c), or with `sigma` "
        "of exp((c^2 - o^2) * sigma): o is its intersection over union with the better box, c the "
        "greatest one of the better box with those better than that. Boxes are as in "
        "suppress_boxes.",
    .inputs = {{"boxes", ir::Accept::real}, {"scores", ir::Accept::real}},
    .outputs = {"kept"},
    .attrs = {{"form", tensor::AttrKind::text},
              {"candidates", tensor::AttrKind::integer},
              {"margin", tensor::AttrKind::real},
              {"touching", tensor::AttrKind::integer},
              {"score_threshold", tensor::AttrKind::real},
              {"sigma", tensor::AttrKind::real, true}},
    .effects = ir::Effects::may_fail,
    .infer = matrix_nms::infer,
    .reference = matrix_nms::reference,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
