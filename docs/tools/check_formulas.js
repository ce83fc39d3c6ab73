// Renders every formula with KaTeX: duk katex.min.js FORMULAS.js check_formulas.js
// FORMULAS.js is what `weave formulas` prints. ES5, for Duktape.
(function () {
  // KaTeX fills arrays (in \begin{pmatrix}, for one), and Duktape cannot.
  if (!Array.prototype.fill) {
    Object.defineProperty(Array.prototype, "fill", {
      value: function (value) {
        for (var i = 0; i < this.length; ++i) this[i] = value;
        return this;
      }
    });
  }
  var bad = 0;
  FORMULAS.forEach(function (formula) {
    try {
      // Letters outside of TeX's alphabet (ᵀ, √, Chinese words) render well enough; anything else strict is an error.
      var strict = function (code) { return code === "unicodeTextInMathMode" ? "ignore" : "error"; };
      katex.renderToString(formula.tex, { displayMode: formula.display, throwOnError: true, strict: strict });
    } catch (error) {
      bad += 1;
      print(formula.where + ": KaTeX: " + String(error.message).replace(/^KaTeX parse error: /, ""));
    }
  });
  if (bad > 0) throw new Error(bad + " of " + FORMULAS.length + " formulas cannot be rendered");
  print(FORMULAS.length + " formulas");
})();
