import ArgumentParser
import SecretVault
import VaultGroups

struct GroupInviteCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "invite",
    abstract: "Invite a peer to a group, or take in who shows a request.",
    discussion: """
      For the owner. The peer is told over the network or Bluetooth, now or when it
      is there: the daemon tries again. Nobody but this peer, known by its keys, can
      take the invitation. When its user says 'vault group join', your daemon lets it
      in.

      Somebody who is near, or no peer, shows a request instead: the QR code of
      'vault group join --qr', which --camera or a picture reads, or a file. The
      answer is shown as a QR code, or goes to the file that --answer names; only who
      has shown the request can use it.

      Examples: vault group invite Family Bob
                vault group invite Family --camera
                vault group invite Family --request bob.txt --answer for-bob.txt
      """)

  @Argument(
    help: ArgumentHelp("The group, and a peer unless a request is shown.", valueName: "group> <peer"),
    completion: .groupsAndPeers)
  var words: [String] = []

  @Option(
    help: ArgumentHelp("Take in who has made this request: a file, a picture, or -.", valueName: "file"),
    completion: .file())
  var request: String?

  @Option(help: ArgumentHelp("Write the answer to a file, or to - .", valueName: "file"), completion: .file())
  var answer: String?

  @OptionGroup var look: CameraOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  private var isShown: Bool { request != nil || look.camera }

  var neededStreams: Set<Int32> { request == "-" ? [0] : [] }

  func validate() throws {
    if request != nil, look.camera { throw ValidationError("--request and --camera exclude each other.") }
    if request == "-" { try unlock.leavesStandardInput(for: "the request") }
    guard isShown else {
      if answer != nil { throw ValidationError("--answer belongs to --request or --camera.") }
      _ = try GroupAndSomebody(words, "a peer")
      return
    }
    guard words.count <= 1 else { throw ValidationError("With a request there is no peer to name.") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let groups = VaultGroups(vault)
    if isShown { return try await answer(groups, console) }
    let asked = try GroupAndSomebody(words, "a peer")
    let group = try await groups.findMember(asked.group)
    let report = try await groups.invite(asked.somebody, to: group)
    let reason = report.problem?.reason ?? "the daemon is at it"
    if report.isMember {
      console.note(
        report.isDelivered
          ? "\(report.peer) is a member: its daemon fetches the servers and keys that \(group.name) has now"
          : "\(report.peer) is a member, and will be told later: \(reason)")
    } else if report.isDelivered {
      console.note("\(report.peer) is told, and joins with: \(GroupText.joining(group.name))")
    } else {
      console.note("\(report.peer) is invited, and will be told later: \(reason)")
      if let hint = report.problem?.hint { console.note("hint: " + hint) }
    }
    if try vault.overview.status().daemon == nil {
      console.note("run 'vault daemon' here: it is what lets \(report.peer) in")
    }
    if console.json { try console.result(report.json(group)) }
  }

  private func answer(_ groups: VaultGroups, _ console: Console) async throws {
    let group = try await groups.findMember(words.first)
    let text = try GroupTextSource.text(request, look, console)
    let taken = try await Interruptible.run { () async throws in
      try await groups.answerText(to: text, for: group)
    }
    console.note(
      "\(taken.name)\(taken.email.isEmpty ? "" : " <\(taken.email)>") is a member of \(group.name) now; the answer is of use "
        + "to that device alone")
    try GroupTextSource.show(taken.text, to: answer, what: "the answer", option: "--answer", console)
  }
}

struct GroupJoinCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "join",
    abstract: "Join a group to which a peer invites you, or ask its owner face to face.",
    discussion: """
      NAME is the group's, or the inviting peer's; it may be left out if there is one
      invitation only. The owner's device is asked to take this one in. If it is
      away, the daemon asks again until it is there.

      Near each other, or without a network: --qr shows a request as a QR code (or
      --request writes it to a file), the owner answers with 'vault group invite
      GROUP --camera' (or --request FILE), and --camera here (or --answer FILE) reads
      the answer. Whoever sees the request could answer it with a group of his own:
      look at the name and owner of what you have joined.

      A member whose servers are all gone gets the new ones in the same ways: by the
      owner's 'vault group invite', or with NAME --request FILE here.

      Examples: vault group join Family
                vault group join --qr && vault group join --camera
                vault group join --request bob.txt
                vault group join --answer for-bob.txt
      """)

  @Argument(help: "The group's name, the beginning of its id, or who invites.")
  var name: String?

  @Flag(help: "Show a request to join as a QR code.")
  var qr = false

  @Option(help: ArgumentHelp("Write a request to join to a file, or to -.", valueName: "file"), completion: .file())
  var request: String?

  @Option(
    help: ArgumentHelp("Take the owner's answer from a file, a picture, or -.", valueName: "file"),
    completion: .file())
  var answer: String?

  @OptionGroup var look: CameraOptions
  @OptionGroup var card: GroupCardOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { answer == "-" ? [0] : [] }

  func validate() throws {
    let ways = [qr, request != nil, answer != nil, look.camera].count { $0 }
    guard ways <= 1 else { throw ValidationError("--qr, --request, --answer and --camera exclude one another.") }
    guard name == nil || answer == nil && !look.camera else {
      throw ValidationError("NAME doesn't go with --answer or --camera: the answer says which group it is.")
    }
    if answer == "-" { try unlock.leavesStandardInput(for: "the answer") }
    if qr, global.json { throw ValidationError("--json takes the request by --request -.") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let groups = VaultGroups(vault)
    if qr || request != nil {
      let text =
        if let name {
          try await groups.requestText(of: groups.findMember(name))
        } else {
          try await groups.requestText(email: card.email, userName: card.userName)
        }
      return try GroupTextSource.show(text, to: qr ? nil : request, what: "the request", option: "--request", console)
    }
    let joined: GroupFacts
    if answer != nil || look.camera {
      let text = try GroupTextSource.text(answer, look, console)
      joined = try await groups.acceptText(text)
    } else {
      joined = try await groups.join(name, email: card.email, userName: card.userName)
    }
    console.note("joined \(joined.name) of \(joined.owner), with \(Measures.count(joined.memberCount, "member"))")
    if console.json { try console.result(joined.json) }
  }
}
