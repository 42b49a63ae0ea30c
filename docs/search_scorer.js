// Order of the search results: pages for users before the interface, that before the methods, and records last.
var Scorer = {
  places: [
    [/^guide\/(index|faq|flow-and-matching)$|^coming-from\/index$|^index$/, 15], // after the page of the subject
    [/^guide\//, 20],
    [/^coming-from\//, 19],
    [/^generated\/(api|gallery)\/|^api\//, 10],
    [/^(algorithms|benchmarks)\//, 5],
  ],
  score: ([docname, , , , score]) => score + (Scorer.places.find(([place]) => place.test(docname)) || [, 0])[1],

  // The weights of Sphinx.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
