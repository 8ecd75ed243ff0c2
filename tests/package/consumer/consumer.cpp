// SPDX-License-Identifier: Apache-2.0
// What somebody else's program would use of an installed libtracer; needs no privileges.
#include <chrono>
#include <iostream>
#include <memory>
#include <utility>

#include <tracer/testing.hpp>
#include <tracer/tracer.hpp>

int main() try {
  if (tracer::check().items.empty() || tracer::this_host().boot_id.empty()) return 1;
  try {
    tracer::RecordingReader("/no/such/recording");
    return 1;
  } catch (const tracer::Error& error) {  // thrown in the library, caught here: its typeinfo must be shared
    if (error.code() != tracer::ErrorCode::kFileUnreadable) return 1;
  }
  tracer::testing::FakeSource source;
  source.set_loss("ring_full", 2);
  tracer::ProcessExit exit;
  exit.process = std::make_shared<const tracer::Process>();
  source.push(exit);
  source.finish();
  tracer::SessionOptions options;
  options.reader = tracer::ReaderMode::kPoll;
  tracer::Session session(source.source(), std::move(options));
  int exits = 0;
  int ends = 0;
  const auto seen = session.on<tracer::ProcessExit>([&exits](const tracer::ProcessExit&) { ++exits; });
  const auto subscription = session.on<tracer::SessionEnd>([&ends](const tracer::SessionEnd&) { ++ends; });
  session.start();
  while (!session.finished()) session.poll(std::chrono::milliseconds(10));
  session.stop();
  if (exits != 1 || ends != 1) return 1;
  std::cout << "tracer " << TRACER_VERSION << '\n';
  return 0;
} catch (const tracer::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
