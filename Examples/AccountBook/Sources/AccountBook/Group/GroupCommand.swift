import ArgumentParser
import Foundation
import Grouper

struct GroupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "group", abstract: "Keep the book in step on the household's devices.",
    subcommands: [Create.self, Request.self, Invite.self, Join.self, Sync.self, Confirm.self])

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Make a group on share servers.")
    @Argument var name: String
    @Option var server: [String]
    @Option(name: .customShort("k"), help: "Servers that an entry is read from.") var threshold = 2
    @Option(name: .customShort("s"), help: "Servers that must have an entry.") var sufficient = 2
    @Option(help: "Days that servers keep entries.") var days = 1
    @Option var email = ""
    @Option var userName: String
    @OptionGroup var place: BookOptions

    func run() async throws {
      let book = try place.open()
      let grouper = try await book.grouper()
      try await grouper.createGroup(
        name: name, servers: server.map { ServerChoice(address: $0) }, threshold: threshold, sufficient: sufficient,
        ttl: days * 86_400, email: email, userName: userName)
      for kind in Book.entities {
        for entity in try book.all(kind) as [any Entity] { try await grouper.sender.update(entity) }
      }
      try await Sync.report(grouper)
    }
  }

  struct Request: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Write what the group's owner needs to invite this device.")
    @Option var email = ""
    @Option var userName: String
    @Option(name: .shortAndLong) var output: String
    @OptionGroup var place: BookOptions

    func run() async throws {
      let request = try await place.open().grouper().joinRequest(email: email, name: userName)
      try Data(request.bytes).write(to: URL(fileURLWithPath: output), options: .withoutOverwriting)
    }
  }

  struct Invite: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Make whoever wrote a request a member.")
    @Argument(help: "The request, which its owner handed over face to face.") var request: String
    @Option(name: .shortAndLong, help: "What to hand back; only that device can read it.") var output: String
    @OptionGroup var place: BookOptions

    func run() async throws {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: request))
      let invitation = try await place.open().grouper().invite(JoinRequest([UInt8](bytes)))
      try Data(invitation.bytes).write(to: URL(fileURLWithPath: output), options: .withoutOverwriting)
    }
  }

  struct Join: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Become a member with the owner's answer.")
    @Argument(help: "The owner's answer.") var invitation: String
    @OptionGroup var place: BookOptions

    func run() async throws {
      let grouper = try await place.open().grouper()
      try await grouper.accept(Invitation([UInt8](Data(contentsOf: URL(fileURLWithPath: invitation)))))
      try await Sync.report(grouper)
    }
  }

  struct Sync: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Send what is new and take what others have sent.")
    @OptionGroup var place: BookOptions

    func run() async throws { try await Self.report(place.open().grouper()) }

    static func report(_ grouper: Grouper) async throws {
      let report = try await grouper.sync()
      print("\(report.changes.count) changes came, \(report.missing) are missing, \(report.answered) servers answered")
      guard report.success else { throw BookError("too few servers answered; what waits here is sent later") }
    }
  }

  struct Confirm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Tell everybody how far this device is.")
    @OptionGroup var place: BookOptions

    func run() async throws {
      let grouper = try await place.open().grouper()
      try await grouper.sender.confirm()
      try await Sync.report(grouper)
    }
  }
}
