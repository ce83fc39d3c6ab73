#include "attn/core/trace.hpp"

#include <thread>

#include "matrices.hpp"

using namespace attn;

TEST_CASE("a trace collects in order, with the prefixes of its scopes") {
  Trace collected;
  trace("X", {{1}});
  {
    TraceScope encoder("encoder.0");
    TraceScope self("self");
    trace("weights", {{2}});
  }
  trace("output", {{3}});
  REQUIRE(collected.tensors().size() == 3);
  CHECK(collected.tensors()[0].name == "X");
  CHECK(collected.tensors()[1].name == "encoder.0.self.weights");
  CHECK(collected["output"](0, 0) == 3);
}

TEST_CASE("nobody listens: nothing happens") { CHECK_NOTHROW(trace("X", {{1}})); }

TEST_CASE("the inner trace collects, then the outer one again") {
  Trace outer;
  {
    Trace inner;
    trace("a", {{1}});
    CHECK(inner.tensors().size() == 1);
  }
  trace("b", {{2}});
  REQUIRE(outer.tensors().size() == 1);
  CHECK(outer.tensors()[0].name == "b");
}

TEST_CASE("of several tensors of one name, the last one is meant") {
  Trace collected;
  trace("X", {{1}});
  trace("X", {{2}});
  CHECK(collected["X"](0, 0) == 2);
}

TEST_CASE("a tensor stays where it is while more are traced") {
  Trace collected;
  trace("X", {{7}});
  const Matrix& X = collected["X"];
  for (int i = 0; i < 1000; ++i) trace("more", {{1}});
  CHECK(&X == &collected["X"]);
  CHECK(X(0, 0) == 7);
}

TEST_CASE("trace() hands on what it is shown") {
  Trace collected;
  const Matrix A = {{2}};
  CHECK(&trace("A", A) == &A);
  const Matrix B = trace("B", Matrix(A + 1.0));
  CHECK(B(0, 0) == 3);
  CHECK(collected["B"](0, 0) == 3);
}

TEST_CASE("a name that was not traced is refused with those that were") {
  Trace collected;
  trace("scores", {{1}});
  trace("weights", {{1}});
  CHECK(tests::complaint([&] { collected["scoers"]; }) ==
        "trace: wanted one of the tensors scores, weights, got scoers");
}

TEST_CASE("each thread has its own") {
  Trace here;
  std::thread other([] { trace("X", {{1}}); });
  other.join();
  CHECK(here.tensors().empty());
}
