#include "attn/core/numbers.hpp"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "attn/core/files.hpp"
#include "attn/core/random.hpp"
#include "attn/core/settings.hpp"
#include "attn/core/table.hpp"
#include "attn/drawing/chart.hpp"
#include "attn/drawing/heat_map.hpp"
#include "attn/formats/model_file.hpp"
#include "attn/formats/npy.hpp"
#include "attn/golden/check.hpp"
#include "comma_locale.hpp"
#include "matrices.hpp"

using namespace attn;
using tests::complaint;

namespace {

std::string printed(const char* format, int precision, double value) {
  std::string text(1000, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), format, precision, value)));
  return text;
}

/// All that writes numbers, one text each.
std::vector<std::string> everything_written() {
  const tests::Scratch scratch;
  std::vector<std::string> texts = {exact_text(0.1), exact_text(1.5e-5),  exact_text(-1234567.25),
                                    fixed(0.5),      fixed(12345.678, 2), fixed(-INFINITY)};
  for (const Dialect& d : dialects()) {
    for (const auto& [name, value] : switches(d)) texts.push_back(value);
  }
  std::ostringstream out;
  print(out, "A", Matrix{{1234.5, -0.25}});
  print(out, "wide", Matrix(xt::zeros<double>({1, 1500})));
  print_mask(out, "mask", Mask(xt::ones<bool>({1, 1200})));
  Table table({"n", "x"});
  table.add({std::to_string(12345), fixed(0.5)});
  table.print(out);
  GoldenCase golden;
  golden.name = "mine", golden.chapter = 1001, golden.tolerance = {1e-12, 1e-5, ""};
  golden.outputs = {{"output", "", {{1, 2000}, std::vector<double>(2000)}}};
  Tensor wrong = golden.outputs[0].value;
  for (std::size_t i = 700; i < 2000; ++i)
    std::get<std::vector<double>>(wrong.values)[i] = i == 1500 ? 4096.5 : 0.25;
  print(out, golden, check(golden, {{"output", wrong}}));
  texts.push_back(out.str());
  texts.push_back(heat_map({{0.5, -0.25}}, {"t", {"x"}, {"a", "b"}}));
  texts.push_back(chart("t", "x", {"1", "2"}, {{"c", {0.25, 0.5}}}, 1.0));
  write_npy(scratch / "big.npy", {{2621, 401}, std::vector<float>(std::size_t{2621} * 401)});
  texts.push_back(read_file(scratch / "big.npy").substr(0, 128));
  ModelFile model;
  model.config.vocabulary = 1200, model.config.d_model = model.config.d_ff = 16, model.config.h = 4;
  model.config.encoder_layers = model.config.decoder_layers = 1;
  model.config.dialect.epsilon = 1.5e-5;
  for (const Parameter& p : parameters(model.config)) {
    model.parameters[p.name] = {{p.rows, p.columns}, std::vector<float>(p.size(), 0.25f)};
  }
  write_model(scratch / "model", model);
  texts.push_back(read_file(scratch / "model"));
  return texts;
}

}  // namespace

TEST_CASE("numbers are written as printf writes them") {
  Random random(3);
  std::vector<double> values = {0.0,      -0.0,      0.5,         1.5,    2.5,
                                0.125,    1e22,      1e23,        5e-324, 1.7976931348623157e308,
                                INFINITY, -INFINITY, std::nan("")};
  for (int i = 0; i < 3000; ++i) {
    values.push_back(std::bit_cast<double>(std::uint64_t{random.bits()} << 32 | random.bits()));
    values.push_back(random.normal() * std::pow(10.0, static_cast<int>(random.bits() % 12) - 6));
  }
  std::size_t different = 0;
  for (const double value : values) {
    for (const int precision : {0, 1, 4, 16, 17}) {
      different += to_text(value, std::chars_format::fixed, precision) != printed("%.*f", precision, value);
      different += to_text(value, std::chars_format::scientific, precision) != printed("%.*e", precision, value);
      different += to_text(value, std::chars_format::general, precision) != printed("%.*g", precision, value);
    }
    if (std::isfinite(value)) different += parse_number(exact_text(value)) != value;
  }
  CHECK(different == 0);
  CHECK(to_text(0.1, std::chars_format::fixed, 600) == printed("%.*f", 600, 0.1));
}

TEST_CASE("numbers are read as strtod reads them, and nothing else is one") {
  for (const char* text : {"0.1", "1e-6", "1.5e-3", "+2", "-0", "5.", ".5", "1E5", "00012", "4.9e-324", "1e308",
                           "0.1000000000000000055511151231257827021181583404541015625"}) {
    INFO(text);
    CHECK(parse_number(text) == std::strtod(text, nullptr));
  }
  for (const char* text : {"", "+", "-", ".", "e5", "1e", "0,1", " 1", "1 ", "1x", "0x1p3", "inf", "nan", "+-1",
                           "++1", "1e999", "1.2.3"}) {
    INFO(text);
    CHECK_FALSE(parse_number(text));
  }
  CHECK_FALSE(parse_number(std::string_view("1\0", 2)));
  CHECK(parse_whole("18446744073709551615") == 18446744073709551615u);
  for (const char* text : {"", "-1", "+1", "1.0", " 1", "18446744073709551616"}) CHECK_FALSE(parse_whole(text));
}

TEST_CASE("the locale of the host program changes nothing") {
  const std::vector<std::string> before = everything_written();
  const tests::CommaLocale comma;
  if (!comma.is_whole()) WARN("No locale with a comma is installed or can be made: only streams are tried here.");
  const std::vector<std::string> after = everything_written();
  REQUIRE(after.size() == before.size());
  for (std::size_t i = 0; i < before.size(); ++i) CHECK((after[i] == before[i]));
  CHECK(after[0] == "0.1");
  CHECK(after[1] == "1.5e-05");

  double value = 0.0;
  std::size_t count = 0;
  const Setting number = number_setting("dropout", "", value, 1.0), whole = count_setting("n", "", count);
  number.set("0.25");
  whole.set("1234567");
  CHECK(value == 0.25);
  CHECK(number.get() == "0.25");
  CHECK(whole.get() == "1234567");
  CHECK(complaint([&] { number.set("0,5"); }) ==
        "dropout: wanted a number of at least 0 and less than 1, got 0,5");
  CHECK(complaint([&] { whole.set("1.000"); }).find("got 1.000") != std::string::npos);

  const tests::Scratch scratch;
  write_file(scratch / "model", after.back());
  CHECK(read_model(scratch / "model").config.dialect.epsilon == 1.5e-5);
  CHECK(load_case(ATTN_TEST_GOLDEN "/03-scaling/square").tolerance.float64 == 1e-12);
}
