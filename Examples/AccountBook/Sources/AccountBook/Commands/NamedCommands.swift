import ArgumentParser

struct ClassificationCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "classification", abstract: "What records are about.",
    subcommands: [Add.self, Rename<Classification>.self, Remove<Classification>.self, Names<Classification>.self])

  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add")
    @Argument var name: String
    @Flag(help: "Money that comes in.") var income = false
    @OptionGroup var place: BookOptions

    func run() async throws {
      try await place.open().keep(Classification(name: name, kind: income ? .income : .expenditure))
    }
  }
}

struct AccountCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "account", abstract: "Where money is.",
    subcommands: [Add.self, Rename<Account>.self, Remove<Account>.self, Names<Account>.self])

  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add")
    @Argument var name: String
    @OptionGroup var place: BookOptions

    func run() async throws { try await place.open().keep(Account(name: name)) }
  }
}

struct ShopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "shop", abstract: "Where money is spent, or who pays.",
    subcommands: [Add.self, Rename<Shop>.self, Remove<Shop>.self, Names<Shop>.self])

  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add")
    @Argument var name: String
    @OptionGroup var place: BookOptions

    func run() async throws { try await place.open().keep(Shop(name: name)) }
  }
}

struct TemplateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "template", abstract: "What comes again and again.",
    subcommands: [Add.self, Rename<Template>.self, Remove<Template>.self, Names<Template>.self])

  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add")
    @Argument var name: String
    @Argument(help: "How much, as 12.50.") var amount: Money
    @Option var classification: String
    @Option var account: String
    @Option var shop: String?
    @OptionGroup var place: BookOptions

    func run() async throws {
      let book = try place.open()
      let template = Template(
        name: name, amount: amount, classification: try book.named(Classification.self, classification).id,
        account: try book.named(Account.self, account).id, shop: try shop.map { try book.named(Shop.self, $0).id })
      try await book.keep(template)
    }
  }
}

struct Rename<E: NamedEntity>: AsyncParsableCommand {
  static var configuration: CommandConfiguration { CommandConfiguration(commandName: "rename") }
  @Argument var name: String
  @Argument var newName: String
  @OptionGroup var place: BookOptions

  func run() async throws {
    let book = try place.open()
    var entity = try book.named(E.self, name)
    entity.name = newName
    try await book.keep(entity)
  }
}

struct Remove<E: NamedEntity>: AsyncParsableCommand {
  static var configuration: CommandConfiguration { CommandConfiguration(commandName: "remove") }
  @Argument var name: String
  @OptionGroup var place: BookOptions

  func run() async throws {
    let book = try place.open()
    try await book.drop(try book.named(E.self, name))
  }
}

struct Names<E: NamedEntity>: AsyncParsableCommand {
  static var configuration: CommandConfiguration { CommandConfiguration(commandName: "list") }
  @OptionGroup var place: BookOptions

  func run() async throws {
    Screen.table(try place.open().all(E.self).map { [$0.name] }.sorted { $0[0] < $1[0] })
  }
}
