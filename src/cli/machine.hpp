// What a command that computes much should know about this machine before it begins.
#pragma once

namespace attn {

/// Says on standard error when BLAS leaves a part of the processor unused; throws when its products are wrong.
void check_products();

}  // namespace attn
