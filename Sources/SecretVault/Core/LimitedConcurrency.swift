/// Most peers that are contacted at the same time.
let contactConcurrency = 32

/// Runs `body` for every element, at most `limit` at a time, and returns the results in the elements' order.
func limitedConcurrency<Element: Sendable, Result: Sendable>(
  _ elements: [Element], limit: Int, _ body: @escaping @Sendable (Element) async -> Result
) async -> [Result] {
  await withTaskGroup(of: (Int, Result).self) { group in
    var results = [Result?](repeating: nil, count: elements.count)
    var next = 0
    while next < min(limit, elements.count) {
      let position = next
      group.addTask { (position, await body(elements[position])) }
      next += 1
    }
    while let (position, result) = await group.next() {
      results[position] = result
      if next < elements.count {
        let position = next
        group.addTask { (position, await body(elements[position])) }
        next += 1
      }
    }
    return results.compactMap { $0 }
  }
}
