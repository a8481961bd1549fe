/// Sums of a book.
struct Totals {
  /// What is added up.
  enum Key: String, CaseIterable { case classification, month, account, shop }

  /// A sum's name, its income and its expenditure.
  struct Line: Equatable {
    let name: String
    var income = Money(hundredths: 0)
    var expenditure = Money(hundredths: 0)
  }

  let lines: [Line]

  init(_ book: Book, by key: Key, month: String?) throws {
    let classifications = Dictionary(uniqueKeysWithValues: try book.all(Classification.self).map { ($0.id, $0) })
    let accounts = Dictionary(uniqueKeysWithValues: try book.all(Account.self).map { ($0.id, $0.name) })
    let shops = Dictionary(uniqueKeysWithValues: try book.all(Shop.self).map { ($0.id, $0.name) })
    var lines: [String: Line] = [:]
    for record in try book.all(Record.self) where month == nil || record.day.month == month {
      let classification = classifications[record.classification]
      let name =
        switch key {
        case .classification: classification?.name ?? "(unknown)"
        case .month: record.day.month
        case .account: accounts[record.account] ?? "(unknown)"
        case .shop: record.shop.map { shops[$0] ?? "(unknown)" } ?? "(none)"
        }
      var line = lines[name] ?? Line(name: name)
      if classification?.kind == .income {
        line.income = line.income + record.amount
      } else {
        line.expenditure = line.expenditure + record.amount
      }
      lines[name] = line
    }
    self.lines = lines.values.sorted { $0.name < $1.name }
  }
}
