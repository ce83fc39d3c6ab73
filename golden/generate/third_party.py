"""Golden cases that others published: the digits as printed, each checked here by the loops.

A case lists only the tensors that its source prints."""

import math

import numpy as np

from common import VERSIONS, Case, difference, main, matrices, product, require, row_softmax
from model import DIALECTS, encoder_layer


def softmax(scores):
  return {"weights": row_softmax(scores)}


def attention(Q, K, V, root=True):
  scores = product(Q, K.T)
  weights = row_softmax(scores / math.sqrt(K.shape[1]) if root else scores)
  return {"Q": Q, "K": K, "V": V, "scores": scores, "weights": weights, "output": product(weights, V)}


def similarity(X):
  return attention(X, X, X, root=False)


def projected(X, W_Q, W_K, W_V):
  return attention(product(X, W_Q), product(X, W_K), product(X, W_V), root=False)


def scaled(X, W_Q, W_K, W_V):
  return attention(product(X, W_Q), product(X, W_K), product(X, W_V))


def printed(places):
  """Half a unit of the last printed place, and a little for the rounding of the program that printed it."""
  tolerance = float(f"6e-{places + 1}")
  return {
    "float64": tolerance,
    "float32": max(tolerance, 1e-5),
    "reason": f"The source prints {places} decimal places: half a unit of the last one, and a little for the "
              "rounding of the program that printed it; in float at least 1e-5, as for the other cases.",
  }


MEANINGS = {"Q": "X W_Q, the queries", "K": "X W_K, the keys", "V": "X W_V, the values", "scores": "Q Kᵀ",
            "weights": "softmax of each row", "output": "weights V"}


def case(name, chapter, title, formula, function, compute, inputs, published, tolerance, producer, versions,
         reference, meanings=MEANINGS, settings=None):
  computed = compute(**inputs)
  apart = max(difference(published[tensor], computed[tensor]) for tensor in published)
  require(apart <= tolerance["float64"], name, f"the published digits are {apart:.1e} from the loops")
  source = {
    "producer": f"{producer}; copied by golden/generate/third_party.py",
    "versions": versions,
    "cross_check": f"loops in double ({VERSIONS}), greatest difference {apart:.1e}",
    "reference": reference,
  }
  outputs = {tensor: (value, meanings[tensor]) for tensor, value in published.items()}
  return Case(f"third-party/{name}", chapter, title, formula, function, inputs, outputs, mistakes=[],
              tolerance=tolerance, source=source, settings=settings or {}, shared={})


SIMPLE_SELF_ATTENTION = case(
  "simple-self-attention", 1,
  "\"Your journey starts with one step\": six words of length 3 attend to each other without any weights.",
  "softmax(X Xᵀ) X", "similarity_attention", similarity,
  matrices(X=[[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64],
              [0.22, 0.58, 0.33], [0.77, 0.25, 0.10], [0.05, 0.80, 0.55]]),
  matrices(
    scores=[[0.9995, 0.9544, 0.9422, 0.4753, 0.4576, 0.6310],
            [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865],
            [0.9422, 1.4754, 1.4570, 0.8296, 0.7154, 1.0605],
            [0.4753, 0.8434, 0.8296, 0.4937, 0.3474, 0.6565],
            [0.4576, 0.7070, 0.7154, 0.3474, 0.6654, 0.2935],
            [0.6310, 1.0865, 1.0605, 0.6565, 0.2935, 0.9450]],
    weights=[[0.2098, 0.2006, 0.1981, 0.1242, 0.1220, 0.1452],
             [0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581],
             [0.1390, 0.2369, 0.2326, 0.1242, 0.1108, 0.1565],
             [0.1435, 0.2074, 0.2046, 0.1462, 0.1263, 0.1720],
             [0.1526, 0.1958, 0.1975, 0.1367, 0.1879, 0.1295],
             [0.1385, 0.2184, 0.2128, 0.1420, 0.0988, 0.1896]],
    output=[[0.4421, 0.5931, 0.5790], [0.4419, 0.6515, 0.5683], [0.4431, 0.6496, 0.5671],
            [0.4304, 0.6298, 0.5510], [0.4671, 0.5910, 0.5266], [0.4177, 0.6503, 0.5645]]),
  printed(places=4), "S. Raschka, Build a Large Language Model (From Scratch)", "PyTorch 2.4.0",
  "github.com/rasbt/LLMs-from-scratch, ch03/01_main-chapter-code/ch03.ipynb, commit 28c65cdf, section 3.3.2",
  {"scores": "X Xᵀ", "weights": "softmax of each row of the scores", "output": "weights X"})

SOFTMAX = case(
  "softmax", 1, "The softmax of each row, as SciPy documents it.", "softmax(scores)", "softmax", softmax,
  matrices(scores=[[1, 0.5, 0.2, 3], [1, -1, 7, 3], [2, 12, 13, 3]]),
  matrices(weights=[[1.05877e-01, 6.42177e-02, 4.75736e-02, 7.82332e-01],
                    [2.42746e-03, 3.28521e-04, 9.79307e-01, 1.79366e-02],
                    [1.22094e-05, 2.68929e-01, 7.31025e-01, 3.31885e-05]]),
  printed(places=6), "SciPy, documentation of scipy.special.softmax, axis=1", "SciPy 1.2 and later",
  "docs.scipy.org/doc/scipy/reference/generated/scipy.special.softmax.html; "
  "github.com/scipy/scipy, scipy/special/_logsumexp.py, commit 033b1388")

ILLUSTRATED = case(
  "illustrated-self-attention", 2,
  "Three vectors of length 4 are projected to length 3 and attend to each other, unscaled.",
  "softmax(Q Kᵀ) V, Q = X W_Q, K = X W_K, V = X W_V", "projected_attention", projected,
  matrices(
    X=[[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]],
    W_Q=[[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]],
    W_K=[[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
    W_V=[[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]]),
  matrices(
    Q=[[1, 0, 2], [2, 2, 2], [2, 1, 3]],
    K=[[0, 1, 1], [4, 4, 0], [2, 3, 1]],
    V=[[1, 2, 3], [2, 8, 0], [2, 6, 3]],
    scores=[[2, 4, 4], [4, 16, 12], [4, 12, 10]],
    weights=[[6.3379e-02, 4.6831e-01, 4.6831e-01],
             [6.0337e-06, 9.8201e-01, 1.7986e-02],
             [2.9539e-04, 8.8054e-01, 1.1917e-01]],
    output=[[1.9366, 6.6831, 1.5951], [2.0000, 7.9640, 0.0540], [1.9997, 7.7599, 0.3584]]),
  printed(places=4), "R. Karim, Illustrated: Self-Attention (2019), as quoted by sabertazimi",
  "PyTorch, version not stated",
  "github.com/sabertazimi/notes, content/ai/dl/transformer.md, commit 329d490c (the copy was read, not the "
  "article)")

KERAS = case(
  "keras-attention", 2,
  "The test of Keras' dot-product attention; X is the unit matrix, so that Q is W_Q and so on.",
  "softmax(Q Kᵀ) V, Q = X W_Q, K = X W_K, V = X W_V", "projected_attention", projected,
  matrices(X=np.eye(2), W_Q=[[1, 0], [0, 1]], W_K=[[0, 1], [1, 0]], W_V=[[1, 2], [3, 4]]),
  matrices(weights=[[0.269, 0.731], [0.731, 0.269]], output=[[2.462, 3.462], [1.538, 2.538]]),
  printed(places=3), "Keras, test_attention_correctness, score_mode=\"dot\"", "Keras 3",
  "github.com/keras-team/keras, keras/src/layers/attention/attention_test.py, commit 1507b5da")

TENSORFLOW = case(
  "tensorflow-tutorial", 3, "Three queries that match one key, or two keys equally well.",
  "softmax(Q Kᵀ / √d_k) V", "attention", attention,
  matrices(
    Q=[[0, 0, 10], [0, 10, 0], [10, 10, 0]],
    K=[[10, 0, 0], [0, 10, 0], [0, 0, 10], [0, 0, 10]],
    V=[[1, 0], [10, 0], [100, 5], [1000, 6]]),
  matrices(output=[[550, 5.5], [10, 0], [5.5, 0]]),
  {"float64": 1e-12, "float32": 1e-5,
   "reason": "The tutorial says which values are returned or averaged; what is left for the others is below "
             "1e-24."},
  "TensorFlow, tutorial \"Transformer model for language understanding\"", "TensorFlow 2",
  "github.com/tensorflow/docs, site/en/tutorials/text/transformer.ipynb, commit 02b796f3: the second value; "
  "the mean of the third and fourth; the mean of the first and second")

FROM_SCRATCH = case(
  "attention-from-scratch", 3, "Four words of length 3 attend to each other, scaled by √3.",
  "softmax(Q Kᵀ / √d_k) V, Q = X W_Q, K = X W_K, V = X W_V", "self_attention", scaled,
  matrices(
    X=[[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]],
    W_Q=[[2, 0, 2], [2, 0, 0], [2, 1, 2]],
    W_K=[[2, 2, 2], [0, 2, 1], [0, 1, 1]],
    W_V=[[1, 1, 0], [0, 1, 1], [0, 0, 0]]),
  matrices(
    scores=[[8, 2, 10, 2], [4, 0, 4, 0], [12, 2, 14, 2], [10, 4, 14, 3]],
    weights=[[2.36089863e-01, 7.38987555e-03, 7.49130386e-01, 7.38987555e-03],
             [4.54826323e-01, 4.51736775e-02, 4.54826323e-01, 4.51736775e-02],
             [2.39275049e-01, 7.43870015e-04, 7.59237211e-01, 7.43870015e-04],
             [8.99501754e-02, 2.81554063e-03, 9.05653685e-01, 1.58059922e-03]],
    output=[[0.98522025, 1.74174051, 0.75652026],
            [0.90965265, 1.40965265, 0.5],
            [0.99851226, 1.75849334, 0.75998108],
            [0.99560386, 1.90407309, 0.90846923]]),
  printed(places=8),
  "The Attention Mechanism from Scratch (machinelearningmastery.com), as run by Ashwanthkumard",
  "NumPy and SciPy, Python 3.9.5",
  "github.com/Ashwanthkumard/LearnNLP, Transformers/02_Attention_Mechanism_with_NumPy_and_SciPy.ipynb, "
  "commit 2d782b80; the matrices are NumPy's random.seed(42) and randint(3, size=(3, 3)), three times",
  {**MEANINGS, "weights": "softmax of each row of the scaled scores"})



def cosines(*shape):
  """cos(0), cos(1), …, row by row: how PyTorch's test fills every parameter, in PyTorch's own shape."""
  return np.cos(np.arange(math.prod(shape), dtype=float)).reshape(shape)


# The fused Q, K, V of PyTorch, taken apart and turned to [in, out].
FUSED, FUSED_BIAS = cosines(12, 4), cosines(1, 12)
PYTORCH_LAYER = {
  "self.W_Q": FUSED[:4].T, "self.b_Q": FUSED_BIAS[:, :4],
  "self.W_K": FUSED[4:8].T, "self.b_K": FUSED_BIAS[:, 4:8],
  "self.W_V": FUSED[8:].T, "self.b_V": FUSED_BIAS[:, 8:],
  "self.W_O": cosines(4, 4).T, "self.b_O": cosines(1, 4),
  "self.norm.gamma": cosines(1, 4), "self.norm.beta": cosines(1, 4),
  "feed_forward.W_1": cosines(16, 4).T, "feed_forward.b_1": cosines(1, 16),
  "feed_forward.W_2": cosines(4, 16).T, "feed_forward.b_2": cosines(1, 4),
  "feed_forward.norm.gamma": cosines(1, 4), "feed_forward.norm.beta": cosines(1, 4),
}
PYTORCH_X = [[0.5387, 0.1655, 0.3565, 0.0471], [0.1402, 0.0318, 0.7636, 0.1346], [0.8924, 0.2872, 0.6692, 0.2944],
             [0.8645, 0.3513, 0.3064, 0.0767], [0.3718, 0.4945, 0.9511, 0.0864]]


def pytorch_layer(name, title, x, hidden, output):
  mask = np.array([[not hide for hide in hidden]] * len(x))
  return case(
    f"pytorch-encoder-layer{name}", 8, title, "LN(y + FFN(y)), y = LN(x + MultiHead(x)); ε is 1e-5", "encoder_layer",
    lambda x, mask, **weights: encoder_layer(x, mask, 2, DIALECTS["fairseq"], **weights),
    {**matrices(x=x), "mask": mask, **PYTORCH_LAYER}, matrices(output=output),
    {"float64": 1e-5, "float32": 2e-5,
     "reason": "The test prints 6 decimal places of a computation in single precision, and asks for 1e-5 itself."},
    "PyTorch, test of torch::nn::TransformerEncoderLayer", "PyTorch, in single precision",
    "github.com/pytorch/pytorch, test/cpp/api/transformer.cpp, commit 1b2abbf5 (BSD-3-Clause)",
    {"output": "the second sum, normed"}, {"h": 2, "dialect": "fairseq"})


PYTORCH = [
  pytorch_layer("", "Five words of PyTorch's own test; every parameter is cos(0), cos(1), and so on.", PYTORCH_X,
                [0, 0, 0, 0, 0],
                [[2.427987, 0.021213, -0.602496, -0.084103], [2.413863, 0.022211, -0.612486, -0.07249],
                 [2.425104, 0.019748, -0.604515, -0.084839], [2.433556, 0.021891, -0.598509, -0.086832],
                 [2.422901, 0.024187, -0.606178, -0.074929]]),
  pytorch_layer("-padded", "The same, the last two words being padding that nobody looks at.", PYTORCH_X,
                [0, 0, 0, 1, 1],
                [[2.428811, 0.021445, -0.601912, -0.084252], [2.415408, 0.02249, -0.611415, -0.073],
                 [2.42598, 0.019941, -0.603896, -0.085091], [2.434021, 0.022093, -0.598179, -0.08679],
                 [2.4242, 0.024653, -0.605266, -0.074959]]),
  pytorch_layer("-two-words", "Two words of large numbers, the first of them padding.", [[1, 2, 3, 4], [5, 6, 7, 8]],
                [1, 0], [[2.301516, 0.092249, -0.679101, 0.103088], [2.301516, 0.092249, -0.679101, 0.103088]]),
]

main("third-party", [SIMPLE_SELF_ATTENTION, SOFTMAX, ILLUSTRATED, KERAS, TENSORFLOW, FROM_SCRATCH, *PYTORCH])
