"use strict";
(function () {
  var form = document.getElementById("filter");
  var all = Array.prototype.slice.call(document.querySelectorAll("#list > details"));
  var output = form.querySelector("output");
  var texts = null;
  var waiting = 0;

  function value(name) { return form.elements[name] ? form.elements[name].value : ""; }
  function has(list, one) { return !one || (" " + list + " ").indexOf(" " + one + " ") >= 0; }

  function apply() {
    var word = value("q").trim().toLowerCase(), shown = 0;
    if (word && !texts) { texts = all.map(function (c) { return c.textContent.toLowerCase(); }); }
    all.forEach(function (c, index) {
      var d = c.dataset;
      var keep = (!value("s") || d.s === value("s")) && (!value("n") || d.n === value("n")) &&
        has(d.e, value("e")) && has(d.m, value("m")) && (!word || texts[index].indexOf(word) >= 0);
      if (c.hidden === keep) { c.hidden = !keep; }
      if (keep) { shown += 1; }
    });
    output.textContent = shown + " of " + all.length + " shown";
  }

  function reveal() {
    var target = location.hash && document.getElementById(location.hash.slice(1));
    if (!target) { return; }
    for (var node = target; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") { node.open = true; node.hidden = false; }
    }
    target.scrollIntoView();
  }

  form.addEventListener("input", function () { clearTimeout(waiting); waiting = setTimeout(apply, 80); });
  form.addEventListener("reset", function () { setTimeout(apply, 0); });
  form.addEventListener("submit", function (event) { event.preventDefault(); apply(); });
  window.addEventListener("hashchange", reveal);
  document.addEventListener("click", function (event) {
    var number = event.target.dataset && event.target.dataset.error;
    if (number) { form.reset(); form.elements.e.value = number; apply(); }
  });
  if (all.length) { form.hidden = false; apply(); }
  reveal();
})();
