// The entry point of binding: infers the module for the feeds' sizes, walks it, places the buffers,
// and compiles the machine code that pays immediately.
#include "base/checked.h"
#include "ir/infer_again.h"
#include "plan/bind/blocks.h"
#include "plan/bind/channels_last.h"
#include "plan/bind/compile_bodies.h"
#include "plan/bind/context.h"
#include "plan/bind/walk.h"
#include "plan/check_feeds.h"

namespace scanloom::plan {
namespace {

/// Returns the type of a sequence or optional, in which every symbolic size becomes a fresh one.
tensor::Type any_sizes(tensor::Type type, tensor::DimTable& dims) {
  for (tensor::Dim& dim : type.dims)
    if (!dim.is_constant()) dim = dims.fresh();
  return type;
}

Expected<std::vector<tensor::Type>> argument_types(BindContext& ctx) {
  const ir::Region& top = ctx.module.region(ctx.module.top());
  const std::vector<tensor::Shape>& shapes = ctx.builder.binding().feed_shapes;
  SCANLOOM_CHECK_OK(check_feeds(ctx.module, shapes));
  std::vector<tensor::Type> types;
  for (std::size_t i = 0; i < top.args.size(); ++i) {
    const tensor::Type& declared = ctx.module.value(top.args[i]).type;
    types.push_back(declared.is_tensor() ? tensor::Type::of(declared.dtype, shapes[i])
                                         : any_sizes(declared, ctx.dims));
  }
  return types;
}

void bind_arguments(BindContext& ctx) {
  const ir::Region& top = ctx.module.region(ctx.module.top());
  for (std::size_t i = 0; i < top.args.size(); ++i) {
    const ir::ValueId argument = top.args[i];
    const DType dtype = ctx.values.type(argument).dtype;
    if (ctx.values.is_object(argument)) {
      const ObjectInit init{
          .kind = ObjectInit::Kind::feed, .constant = {}, .feed = static_cast<std::int32_t>(i)};
      ctx.values.set(argument, ctx.builder.new_object(dtype, init));
      ctx.values.set_owned(argument);
      continue;
    }
    Location feed;
    feed.spot.slot =
        ctx.builder.new_slot({SlotInit::Kind::feed, 0, nullptr, static_cast<std::int32_t>(i)});
    feed.spot.layout = ctx.builder.contiguous_layout(ctx.builder.binding().feed_shapes[i]);
    feed.spot.dtype = dtype;
    ctx.values.set(argument, feed);
  }
}

void bind_results(BindContext& ctx) {
  const ir::Region& top = ctx.module.region(ctx.module.top());
  Binding& binding = ctx.builder.binding();
  for (std::size_t i = 0; i < top.yields.size(); ++i) {
    const tensor::Type& result = ctx.values.type(top.yields[i]);
    BoundResult bound;
    bound.dtype = result.dtype;
    if (result.is_static() && !ctx.values.is_object(top.yields[i])) {
      bound.shape = result.shape();
      Location spot;
      spot.spot.slot =
          ctx.builder.new_slot({SlotInit::Kind::result, 0, nullptr, static_cast<std::int32_t>(i)});
      spot.spot.layout = ctx.builder.contiguous_layout(bound.shape);
      spot.spot.dtype = result.dtype;
      bound.source = spot.spot;
      binding.result_bytes =
          saturating_sum(binding.result_bytes, ctx.values.account_for(top.yields[i]));
      ctx.values.want_source(ctx.module.top(), top.yields[i], spot);
    }
    binding.results.push_back(bound);
  }
}

Expected<std::shared_ptr<const Binding>> bind_all(BindContext& ctx) {
  SCANLOOM_TRY(const std::vector<tensor::Type> arguments, argument_types(ctx));
  const std::unique_ptr<ir::Inference> before = ctx.plan->latest_inference.take();
  SCANLOOM_TRY(ctx.inference,
               ir::infer_again(ctx.module, arguments, ctx.dims, {.evaluate = true}, before.get()));
  bind_arguments(ctx);
  bind_results(ctx);
  plan_blocks(ctx);
  ctx.fusion = find_fusion(ctx);
  std::vector<bool> channels_last = find_channels_last(ctx);
  ctx.pairs = find_conv_pairs(ctx, channels_last);
  ctx.values.set_channels_last(std::move(channels_last));
  SCANLOOM_CHECK_OK(bind_regions(ctx));
  SCANLOOM_CHECK_OK(ctx.builder.place_buffers());
  compile_bodies(ctx);
  if (ctx.stopped) return *std::move(ctx.stopped);
  ctx.plan->latest_inference.set(std::make_unique<ir::Inference>(std::move(ctx.inference)));
  return ctx.builder.shared();
}

}  // namespace

Expected<std::shared_ptr<const Binding>> bind(std::shared_ptr<const Plan> plan,
                                              std::span<const tensor::Shape> feed_shapes,
                                              const MayGoOn& may_go_on) {
  BindContext ctx(std::move(plan), feed_shapes, may_go_on);
  return bind_all(ctx);
}

}  // namespace scanloom::plan
