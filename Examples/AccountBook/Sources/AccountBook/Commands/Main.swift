import ArgumentParser
import Foundation

/// A household's book of income and expenditure.
@main
struct AccountBook: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "account-book",
    abstract: "Keep a household's book of income and expenditure.",
    subcommands: [
      AddCommand.self, EditCommand.self, DeleteCommand.self, ListCommand.self, TotalsCommand.self, PhotoCommand.self,
      ClassificationCommand.self, AccountCommand.self, ShopCommand.self, TemplateCommand.self,
      GroupCommand.self,
    ])
}

/// Where the book is.
struct BookOptions: ParsableArguments {
  @Option(help: "The book's folder; by default $ACCOUNT_BOOK, else account-book in the folder for programs' data.")
  var book: String?

  func open() throws -> Book {
    let environment = ProcessInfo.processInfo.environment
    let folder =
      book ?? environment["ACCOUNT_BOOK"]
      ?? (environment["XDG_DATA_HOME"] ?? NSHomeDirectory() + "/.local/share") + "/account-book"
    return try Book(URL(fileURLWithPath: folder))
  }
}
