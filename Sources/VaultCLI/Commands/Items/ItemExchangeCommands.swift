import ArgumentParser
import Glibc
import SecretVault
import VaultGroups

struct ItemExportCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write an item to a file, encrypted as it is, for mail or for another device.",
    discussion: """
      Needs neither the key nor a peer. The receiver, who must hold a share of the
      key, brings it in with 'vault item import'. With --armor it is text, to be
      pasted into a mail. What is inside comes out with 'vault item show ITEM -o
      FILE'.

      Example: vault item export photo.jpg -o photo.vaultitem
               vault item export "door code" --armor -o - | mail bob@example.org
      """)

  @Argument(help: "The item.")
  var item: String

  @Flag(help: "Write text for mail.")
  var armor = false

  @OptionGroup var place: OutputOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { place.output == "-" ? [STDOUT_FILENO] : [] }

  func validate() throws { try place.check(json: global.json) }

  func run(_ vault: Vault, _ console: Console) async throws {
    let destination =
      place.output == "-"
      ? try place.standardOutput(plaintext: false, isText: armor)
      : try place.destination(plaintext: false) ?? OutputOptions.here(overwrites: place.force)
    let report = try vault.items.exportItem(
      item, armored: armor, to: destination, access: ItemReporter(console, verb: "writing").access())
    try ViewOptions.printPath(report.path, json: report.json, console)
  }
}

struct ItemImportCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Bring in an item from a file, a mail, or a picture of its QR code.",
    discussion: """
      The key is found by itself; this device must hold a share of it. It is
      recovered, unless it is unlocked, and everything is verified before the item is
      kept. It is new until you look at it. FILE may be text for mail, also within a
      mail, or a PNG or JPEG picture of a QR code; - is standard input. The item's id
      goes to standard output.

      Example: vault item import photo.vaultitem

      Exit codes: 4 the key could not be recovered, 5 no share of its key here, 8
      damaged.
      """)

  @Argument(help: ArgumentHelp("The file, or -.", valueName: "file"), completion: .file())
  var file: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { file == "-" ? [STDIN_FILENO] : [] }

  func validate() throws {
    if file == "-" { try unlock.leavesStandardInput(for: "the item") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let access = ItemReporter(console, verb: "importing").access()
    let arrivals: [ItemArrival]
    if file != "-", let texts = try ItemPicture.texts(path: file) {
      arrivals = try await ItemPicture.importAll(texts, named: file, into: vault, access)
    } else {
      let source = file == "-" ? ShareSource.descriptor(STDIN_FILENO, name: "standard input") : .file(path: file)
      arrivals = [try await vault.items.importItem(source, access: access)]
    }
    for arrival in arrivals { Self.note(arrival, console) }
    if console.json, let only = arrivals.first, arrivals.count == 1 { return try console.result(only.json) }
    try console.result(arrivals.map(\.item.id), json: .array(arrivals.map(\.json)))
  }

  static func note(_ arrival: ItemArrival, _ console: Console) {
    let name = arrival.item.shortName
    console.note(
      arrival.isKnown
        ? "\(name) is here already, under the key \(arrival.item.key)"
        : "imported \(name) under the key \(arrival.item.key)")
  }
}

/// Items in pictures of QR codes.
enum ItemPicture {
  /// The texts in the codes of a picture; nil if the file is none.
  static func texts(path: String) throws -> [String]? {
    guard let front = PublicFile.front(of: path, count: 8), CardSource.isPicture(front) else { return nil }
    let bytes = try PublicFile.read(path: path, limit: CardSource.byteLimit)
    return try ScanHelper.contents(of: bytes, named: path).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Whether a text claims to be an item, in either case.
  static func isItemText(_ text: String) -> Bool { text.prefix(10).lowercased() == "vaultitem1" }

  /// Brings in every item among some texts; none is an error that says what is there instead.
  static func importAll(
    _ texts: [String], named name: String, into vault: Vault, _ access: ItemAccess
  ) async throws -> [ItemArrival] {
    let items = texts.filter { isItemText($0) }
    guard !items.isEmpty else {
      let isCard = texts.contains { CardSource.isCardText($0) }
      throw VaultError(
        .usage, "there is no item in \(name)\(isCard ? ", but the card of a peer" : "")",
        hint: isCard ? "import it with 'vault peer add'" : "'vault peer scan' shows what is in a picture")
    }
    var arrivals: [ItemArrival] = []
    for text in items { arrivals.append(try await vault.items.importItem(text: text, access: access)) }
    return arrivals
  }
}

struct ItemAcceptCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept",
    abstract: "Accept an item that a peer has sent.",
    discussion: """
      Items from peers wait until you accept them. The key is found by itself and
      recovered, and everything is verified. Without ITEM, all that wait are
      accepted; what can't be is named, and the others still are. Where peers have
      sent different items under one id, --from says whose is meant. To refuse what a
      peer has sent: 'vault item delete ITEM --from PEER'. The ids go to standard
      output.

      Example: vault item accept
      """)

  @Argument(help: "The item.")
  var item: String?

  @Option(
    name: .customLong("from"), help: ArgumentHelp("Only what this peer has sent.", valueName: "peer"),
    completion: .peers)
  var peer: String?

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    var waiting = item.map { [$0] } ?? []
    if item == nil {
      for sent in try vault.items.sentItems(from: peer) where !waiting.contains(sent.id) { waiting.append(sent.id) }
    }
    if waiting.isEmpty { console.note("no item waits to be accepted") }
    let access = ItemReporter(console, verb: "verifying").access()
    var arrivals: [ItemArrival] = []
    var failure: VaultError?
    for reference in waiting {
      let arrival: ItemArrival
      do {
        for sent in try vault.items.sentItems(as: reference, from: peer) {
          console.note("\(sent.shortName), sent by \(sent.sender ?? "a peer"), is under the key \(sent.key)")
        }
        arrival = try await vault.items.acceptItem(reference, from: peer, access: access)
      } catch {
        // What one peer has sent doesn't hold up what others have.
        guard VaultError(error).code != .interrupted, waiting.count > 1 else { throw error }
        if let failure {
          console.warning(failure.reason)
          if let hint = failure.hint { console.note(hint) }
        }
        failure = VaultError(error)
        continue
      }
      arrivals.append(arrival)
      for sender in arrival.falseSenders {
        console.warning("what \(sender) had sent as \(arrival.item.shortName) doesn't open, and was deleted")
      }
      let (item, isGroups) = (arrival.item, arrival.item.origin == .group)
      let known = "\(item.shortName) \(isGroups ? "is here already, by a group" : "was accepted before")"
      console.note(arrival.isKnown ? known : "accepted \(item.shortName)")
    }
    try console.result(arrivals.map(\.item.id), json: .array(arrivals.map(\.json)))
    if let failure { throw failure }
  }
}

struct ItemSendCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "send",
    abstract: "Send an item to a peer that holds a share of its key.",
    discussion: """
      Goes over an authenticated session, encrypted as it is. It waits at the peer
      until its user accepts it. An interrupted transfer goes on where it stopped
      when the command is repeated. To a peer that can't be reached an item of up to
      4 MiB goes by parcel: through an account, servers of a group, or others'
      devices that carry it.

      Example: vault item send photo.jpg Bob

      Exit codes: 5 the peer refused (no share of the key, quota), 6 unreachable, and
      too large to go by parcel.
      """)

  @Argument(help: "The item.")
  var item: String

  @Argument(help: "The peer.", completion: .peers)
  var peer: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let delivery = try await send(vault, console)
    console.note(Self.words(delivery))
    if console.json { try console.result(delivery.json) }
  }

  private func send(_ vault: Vault, _ console: Console) async throws -> ItemDelivery {
    do {
      return try await vault.items.sendItem(item, to: peer, access: ItemReporter(console, verb: "sending").access())
    } catch  where VaultError(error).code == .unreachable {
      // What is too large, or may not be kept, is as it was: the peer can't be reached.
      do { return try vault.items.sendItemByParcel(item, to: peer) } catch let other {
        let (error, other) = (VaultError(error), VaultError(other))
        throw VaultError(error.code, error.reason, hint: other.code == .refused ? other.reason : error.hint)
      }
    }
  }

  static func words(_ delivery: ItemDelivery) -> String {
    if delivery.isOnItsWay {
      return
        "\(delivery.peer) can't be reached just now; \(delivery.item.shortName) waits here in a parcel, and 'vault daemon' sends it by every way there is"
    }
    return delivery.isKnown
      ? "\(delivery.peer) has \(delivery.item.shortName) already"
      : "\(delivery.item.shortName) is at \(delivery.peer), where it waits to be accepted"
  }
}

struct ItemCopyCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy",
    abstract: "Encrypt an item once more, under another key.",
    discussion: """
      Both keys are recovered unless they are unlocked; with --public the other key's
      public half is enough. The item itself stays. A password of its own goes along.
      The new item's id goes to standard output.

      Example: vault item copy video.mp4 --to friends
      """)

  @Argument(help: "The item.")
  var item: String

  @Option(name: .customLong("to"), help: ArgumentHelp("The other key.", valueName: "key"), completion: .keys)
  var key: String

  @Flag(name: .customLong("public"), help: "Encrypt to the other key's public half, without recovering it.")
  var usesPublicHalf = false

  @OptionGroup var consent: ConsentOptions
  @OptionGroup var password: PasswordOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var namedDescriptors: [(option: String, descriptor: Int32)] { password.namedDescriptors }

  func validate() throws {
    try password.check(beside: unlock)
    try consent.check()
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let copy = try await vault.items.copyItem(
      item, to: key, usesPublicHalf: usesPublicHalf,
      access: ItemReporter(console, verb: "copying").access(
        passwords: password.source(console), patience: consent.patience(console)))
    console.note("copied \(copy.shortName) to the key \(copy.key)")
    try console.result([copy.id], json: copy.json)
  }
}

struct ItemDeleteCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Delete an item from this device.",
    discussion: """
      Asks first; --yes answers. Where a group keeps the item in step, it goes from
      the devices of all members; 'vault group drop' takes it out of the group and
      keeps it here. Copies that were exported or sent stay where they are. With
      --from only what that peer has sent, and waits to be accepted, is deleted.

      Example: vault item delete letters.tar --yes
      """,
    aliases: ["remove"])

  @Argument(help: "The item.")
  var item: String

  @Option(
    name: .customLong("from"), help: ArgumentHelp("Refuse what this peer has sent.", valueName: "peer"),
    completion: .peers)
  var peer: String?

  @Flag(help: "Do not ask.")
  var yes = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let item = try vault.items.deletableItem(self.item, from: peer)
    let isSent = item.state == .waiting
    let groups = isSent ? [] : try await VaultGroups(vault).groups(ofItem: item.id).map(\.name)
    let name = isSent ? "\(item.shortName), as \(item.sender ?? "a peer") has sent it," : item.shortName
    let reach =
      groups.isEmpty
      ? "from this device" : "from this device and from those of the group \(groups.joined(separator: " and of "))"
    if !yes { try Question.confirm("Delete the item \(name) \(reach)?", option: "--yes") }
    // In hand: another item could have come to have the name while the question stood.
    try await GroupedItems.delete(item, vault, console)
    console.note("deleted \(item.shortName)")
    if console.json { try console.result(item.json) }
  }
}
