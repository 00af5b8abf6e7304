// scanloom convert: models from one format to another.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include <scanloom/convert.h>

#include "commands.h"
#include "options.h"

namespace scanloom::cli {
namespace {

struct ConvertArgs {
  std::string from, to;
  bool lenient = false;
  bool external_data = false;
  bool stream = false;
};

void convert_model(const ConvertArgs& args) {
  ModelArgs model;
  model.lenient = args.lenient;
  ConvertOptions options;
  options.session = session_options(model);
  options.external_data = args.external_data;
  options.stream = args.stream;
  convert(args.from, args.to, options).value_or_throw();
}

}  // namespace

void add_convert(CLI::App& app, int&) {
  auto args = std::make_shared<ConvertArgs>();
  CLI::App* command = app.add_subcommand("convert", "writes a model in another format");
  command
      ->add_option("from", args->from,
                   "an ONNX model, an IR of OpenVINO (.xml), or a saved function")
      ->required();
  command->add_option("to", args->to, "what to write: .onnx, or .xml with a .bin beside it")
      ->required();
  command->add_flag("--external-data", args->external_data,
                    "ONNX: weights in a file beside it, TO.data");
  command->add_flag("--stream", args->stream,
                    "keep what loops carry as states, so that sequences are fed in pieces");
  command->add_flag("--lenient", args->lenient, "accept names that shadow outer names");
  command->footer("Example: scanloom convert model.xml model.onnx");
  command->callback([args] { convert_model(*args); });
}

}  // namespace scanloom::cli
