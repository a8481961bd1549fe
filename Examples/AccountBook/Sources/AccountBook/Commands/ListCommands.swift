import ArgumentParser

struct ListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "Show records, the newest first.")

  @Option(help: "Only of this month, as 2026-11.") var month: String?
  @OptionGroup var place: BookOptions

  func run() async throws {
    let book = try place.open()
    let classifications = Dictionary(uniqueKeysWithValues: try book.all(Classification.self).map { ($0.id, $0) })
    let accounts = Dictionary(uniqueKeysWithValues: try book.all(Account.self).map { ($0.id, $0.name) })
    let shops = Dictionary(uniqueKeysWithValues: try book.all(Shop.self).map { ($0.id, $0.name) })
    let records = try book.all(Record.self).filter { month == nil || $0.day.month == month }
    Screen.table(
      records.sorted { ($0.day, $0.id) > ($1.day, $1.id) }.map { record in
        let classification = classifications[record.classification]
        let amount = classification?.kind == .income ? record.amount : -record.amount
        return [
          String(record.id.prefix(8)), record.day.description, amount.description, classification?.name ?? "(unknown)",
          accounts[record.account] ?? "(unknown)", record.shop.map { shops[$0] ?? "(unknown)" } ?? "",
          record.photo == nil ? "" : "picture", record.note,
        ]
      })
  }
}

struct TotalsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "totals", abstract: "Add up by classification, month, account or shop.")

  @Option(help: "What to add up by: \(Totals.Key.allCases.map(\.rawValue).joined(separator: ", ")).") var by = Totals
    .Key.classification
  @Option(help: "Only of this month, as 2026-11.") var month: String?
  @OptionGroup var place: BookOptions

  func run() async throws {
    let totals = try Totals(place.open(), by: by, month: month)
    Screen.table(
      [["", "income", "expenditure"]]
        + totals.lines.map { [$0.name, $0.income.description, $0.expenditure.description] })
  }
}

extension Totals.Key: ExpressibleByArgument {}
