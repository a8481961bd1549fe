import ArgumentParser
import Foundation

/// What a record says, as far as it is given.
struct RecordOptions: ParsableArguments {
  @Option(help: "What it is about.") var classification: String?
  @Option(help: "Where the money is.") var account: String?
  @Option(help: "Where it was spent, or who paid.") var shop: String?
  @Option(help: "A picture of the receipt.") var photo: String?
  @Option(help: "The day, as 2026-11-22.") var day: Day?
  @Option(help: "Some words.") var note: String?

  /// Puts what is given into a record.
  func apply(to record: inout Record, _ book: Book) async throws {
    if let classification { record.classification = try book.named(Classification.self, classification).id }
    if let account { record.account = try book.named(Account.self, account).id }
    if let shop { record.shop = try book.named(Shop.self, shop).id }
    if let day { record.day = day }
    if let note { record.note = note }
    if let photo {
      let url = URL(fileURLWithPath: photo)
      let bytes = try Data(contentsOf: url)
      guard bytes.count <= Photo.byteLimit else { throw BookError("\(photo) is larger than 8 MiB") }
      let entity = Photo(fileName: url.lastPathComponent, bytes: bytes)
      try await book.keep(entity)
      record.photo = entity.id
    }
  }
}

struct AddCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "add", abstract: "Record an income or expenditure.")

  @Argument(help: "How much, as 12.50; not needed with --template.") var amount: Money?
  @Option(help: "Take what isn't given from this template.") var template: String?
  @OptionGroup var options: RecordOptions
  @OptionGroup var place: BookOptions

  func run() async throws {
    let book = try place.open()
    let model = try template.map { try book.named(Template.self, $0) }
    guard let amount = amount ?? model?.amount else { throw ValidationError("Say how much, or use --template.") }
    guard
      let classification = try options.classification.map({ try book.named(Classification.self, $0).id })
        ?? model?.classification,
      let account = try options.account.map({ try book.named(Account.self, $0).id }) ?? model?.account
    else { throw ValidationError("Say --classification and --account, or use --template.") }
    var record = Record(
      day: options.day ?? Day.today(), amount: amount, classification: classification, account: account,
      shop: model?.shop, note: "")
    try await options.apply(to: &record, book)
    try await book.keep(record)
    print(record.id.prefix(8))
  }
}

struct EditCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "edit", abstract: "Change a record.")

  @Argument(help: "The record, by the beginning of its id.") var record: String
  @Option(help: "How much.") var amount: Money?
  @OptionGroup var options: RecordOptions
  @OptionGroup var place: BookOptions

  func run() async throws {
    let book = try place.open()
    var record = try book.found(Record.self, record)
    if let amount { record.amount = amount }
    try await options.apply(to: &record, book)
    try await book.keep(record)
  }
}

struct DeleteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "delete", abstract: "Delete a record and its picture.")

  @Argument(help: "The record, by the beginning of its id.") var record: String
  @OptionGroup var place: BookOptions

  func run() async throws {
    let book = try place.open()
    let record = try book.found(Record.self, record)
    try await book.drop(record)
    if let photo = record.photo { try await book.drop(try book.found(Photo.self, photo)) }
  }
}

struct PhotoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "photo", abstract: "Write a record's picture into a file.")

  @Argument(help: "The record, by the beginning of its id.") var record: String
  @Option(name: .shortAndLong, help: "The file.") var output: String
  @OptionGroup var place: BookOptions

  func run() async throws {
    let book = try place.open()
    guard let photo = try book.found(Record.self, record).photo else { throw BookError("the record has no picture") }
    try book.found(Photo.self, photo).bytes.write(to: URL(fileURLWithPath: output), options: .withoutOverwriting)
  }
}
