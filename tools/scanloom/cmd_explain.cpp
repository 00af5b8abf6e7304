// scanloom explain: describes how each loop runs.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include <scanloom/session.h>

#include "commands.h"
#include "feeds.h"
#include "options.h"
#include "plain_text.h"

namespace scanloom::cli {
namespace {

struct ExplainArgs {
  ModelArgs model;
  FeedArgs feeds;
};

void explain(const ExplainArgs& args) {
  const Session session =
      Session::load(args.model.path, session_options(args.model)).value_or_throw();
  FeedArgs feeds = args.feeds;
  feeds.random = true;  // only sizes matter
  const std::vector<NamedView> tensors = make_feeds(session, feeds);
  // Strategies are chosen once the sizes are known; planning triggers the choice.
  session.plan(as_feeds(tensors)).value_or_throw();
  std::cout << plain_text(session.explain());
}

}  // namespace

void add_explain(CLI::App& app, int&) {
  auto args = std::make_shared<ExplainArgs>();
  CLI::App* command =
      app.add_subcommand("explain", "explains how each loop of a model is executed, and why");
  add_model_options(*command, args->model);
  add_threads_option(*command, args->model);
  add_feed_options(*command, args->feeds);
  command->footer("Example: scanloom explain qlstm.onnx --dim T=100");
  command->callback([args] { explain(*args); });
}

}  // namespace scanloom::cli
