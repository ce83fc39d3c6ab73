#include "attn/engine/batch.hpp"

#include <algorithm>
#include <string>

#include "attn/core/errors.hpp"

namespace attn::engine {
namespace {

/// How long a sentence is without the padding at its end.
std::size_t length_without_padding(const Tokens& tokens, int pad) {
  std::size_t length = tokens.size();
  while (length > 0 && tokens[length - 1] == pad) --length;
  return length;
}

void add_sentence(Packed& packed, const Tokens& tokens, std::size_t length, std::size_t vocabulary,
                  const char* what) {
  for (std::size_t i = 0; i < length; ++i) {
    if (tokens[i] >= 0 && static_cast<std::size_t>(tokens[i]) < vocabulary) continue;
    refuse(std::string(what) + " " + std::to_string(packed.segments.size()) + ", token " + std::to_string(i),
           "a number from 0 to " + std::to_string(vocabulary - 1), std::to_string(tokens[i]));
  }
  packed.segments.push_back({packed.tokens.size(), length});
  packed.tokens.insert(packed.tokens.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(length));
}

/// Marks padding among the tokens that are left.
void hide_padding(Packed& packed, int pad) {
  if (std::find(packed.tokens.begin(), packed.tokens.end(), pad) == packed.tokens.end()) return;
  packed.hidden.resize(packed.tokens.size());
  std::transform(packed.tokens.begin(), packed.tokens.end(), packed.hidden.begin(),
                 [&](int token) { return static_cast<unsigned char>(token == pad ? 1 : 0); });
}

int start_token(const Config& config) {
  switch (config.dialect.decoder_start) {
    case DecoderStart::bos:
      return config.bos;
    case DecoderStart::eos:
      return config.eos;
    case DecoderStart::zero_vector:
      return no_token;
  }
  return no_token;
}

}  // namespace

Batch pack(const Config& config, std::span<const Tokens> sources, std::span<const Tokens> targets) {
  if (sources.size() != targets.size()) {
    refuse("pack", "as many targets as sources",
           std::to_string(sources.size()) + " sources and " + std::to_string(targets.size()) + " targets");
  }
  const std::size_t target_V = config.target_vocabulary == 0 ? config.vocabulary : config.target_vocabulary;
  Batch batch;
  Packed target;
  for (const Tokens& tokens : sources) {
    add_sentence(batch.source, tokens, length_without_padding(tokens, config.pad), config.vocabulary, "source");
  }
  for (const Tokens& tokens : targets) {
    add_sentence(target, tokens, length_without_padding(tokens, config.pad), target_V, "target");
  }
  batch.input = target;
  for (const Segment& segment : target.segments) {
    for (std::size_t i = segment.length; i-- > 0;) {
      const std::size_t at = segment.start + i;
      batch.input.tokens[at] = i == 0 ? start_token(config) : target.tokens[at - 1];
    }
  }
  batch.target = std::move(target.tokens);
  hide_padding(batch.source, config.pad);
  hide_padding(batch.input, config.pad);
  return batch;
}

}  // namespace attn::engine
