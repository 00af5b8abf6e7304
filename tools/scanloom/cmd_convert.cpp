// scanloom convert: converts models between formats.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <scanloom/convert.h>

#include "commands.h"
#include "feeds.h"
#include "options.h"
#include "output_file.h"
#include "progress_line.h"
#include "sizes.h"

namespace scanloom::cli {
namespace {

struct ConvertArgs {
  std::string from, to;
  bool lenient = false;
  bool external_data = false;
  bool stream = false;
  FeedArgs fixed;
};

/// Sets the sizes and values of inputs given by --dim and --feed.
void fix_inputs(const ConvertArgs& args, const ModelArgs& model, ConvertOptions& options) {
  if (args.fixed.dims.empty() && args.fixed.feeds.empty()) return;
  SessionOptions as_written = session_options(model);
  as_written.optimize = false;
  as_written.execution = Execution::interpreted;
  as_written.on_warning = {};
  const Session session = Session::load(args.from, as_written).value_or_throw();
  expect_not_read("to", args.to, session, args.fixed);
  options.values = make_given_feeds(session, args.fixed);
  const Sizes sizes(session, args.fixed.dims);
  for (const ValueInfo& input : session.inputs()) {
    std::vector<std::int64_t> given = sizes.given_for(input);
    if (std::ranges::any_of(given, [](std::int64_t size) { return size >= 0; }))
      options.sizes.emplace_back(input.name, std::move(given));
  }
}

void convert_model(const ConvertArgs& args) {
  const Waiting waiting("converting " + args.from);
  ModelArgs model;
  model.lenient = args.lenient;
  ConvertOptions options;
  options.session = session_options(model);
  options.external_data = args.external_data;
  options.stream = args.stream;
  fix_inputs(args, model, options);
  convert(args.from, args.to, options).value_or_throw();
}

}  // namespace

void add_convert(CLI::App& app, int&) {
  auto args = std::make_shared<ConvertArgs>();
  CLI::App* command = app.add_subcommand("convert", "writes a model in another format");
  command
      ->add_option("from", args->from, "an ONNX model, an OpenVINO IR (.xml), or a saved function")
      ->required();
  command->add_option("to", args->to, "what to write: .onnx, or .xml with a .bin next to it")
      ->required();
  command->add_flag("--external-data", args->external_data,
                    "ONNX: weights in a file next to it, TO.data");
  command->add_flag("--stream", args->stream,
                    "keep loop states, so that sequences can be fed in pieces");
  command
      ->add_option("--dim", args->fixed.dims,
                   "NAME=SIZE: fix a symbolic dimension, or INPUT.AXIS=SIZE")
      ->type_name("DIM")
      ->allow_extra_args(false);
  command
      ->add_option("--feed", args->fixed.feeds,
                   "NAME=WHAT, as for run: fix an input, which the written model then lacks")
      ->type_name("FEED")
      ->allow_extra_args(false);
  command->add_flag("--lenient", args->lenient,
                    "accept shadowed names, newer versions and unknown attributes");
  command->footer("Example: scanloom convert model.xml model.onnx");
  command->callback([args] { convert_model(*args); });
}

}  // namespace scanloom::cli
