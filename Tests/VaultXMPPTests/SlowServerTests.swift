import ChatServers
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault
@testable import VaultXMPP

extension AccountTests {
  /// A server that reads no more than some kilobytes a second, and what is large.
  @Suite(.enabled(if: ChatServer.isAvailable, reason), .serialized, .timeLimit(.minutes(15)))
  struct SlowServerTests {
    private func photo(of size: Int) -> MessageFile {
      VaultXMPPTests.photo((0..<size).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) })
    }

    @Test func `a file gets through a server that reads slowly, and no text waits for it`() async throws {
      // A quarter of a mebibyte is 350 kB there, for which it takes more than a minute of theirs.
      let speed = 8
      let server = try ChatServer.slow(kilobytes: 4 * speed)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      try ada.meet(bob)
      for person in [ada, bob] { try await person.register(at: server) }
      try ada.vault.accounts.setAccountAddress("Bob", to: bob.address)
      try await bob.online {
        try await ada.exchanging { exchange in
          // What is sent while he logs in may be lost, and come minutes later.
          try ada.send("are you there?", to: bob)
          try await eventually("bob is there") { try bob.received() == ["are you there?"] }
          for person in [ada, bob] { person.hurry(speed) }
          let file = try ada.vault.messages.send(.file(photo(of: 200_000)), to: "Bob")
          try await eventually("the file is being sent") { exchange.state.withLock { $0.isSending } }
          let text = try ada.send("in between", to: bob)
          try await eventually("both are confirmed", seconds: 800) {
            try [file, text].allSatisfy { try ada.state($0) == "delivered" }
          }
          // In the order of sending, the newest first; numbered as they came.
          let came = try bob.vault.messages.messages()
          #expect(came.map(\.kind) == [.text, .photo, .text])
          #expect(came.map(\.number).max() == came[1].number)
        }
      }
      server.kill()
    }

    @Test func `what is large goes behind what is small, and behind what hasn't been tried`() throws {
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      try ada.meet(bob)
      try ada.vault.logInNowhere(peer: "Bob", at: bob.address)
      for size in [400_000, 100_000] { _ = try ada.vault.messages.send(.file(photo(of: size)), to: "Bob") }
      try ada.send("small", to: bob)
      let small = try ada.vault.post.smallAccountPosts()
      #expect(small.count == 1 && small.allSatisfy { $0.post.bytes.count < 10_000 })
      let first = try #require(try ada.vault.post.largeAccountPost([:])?.post)
      #expect(first.bytes.count < 200_000)
      let second = try #require(try ada.vault.post.largeAccountPost([first.id: 1])?.post)
      #expect(second.bytes.count > 400_000)
      #expect(try ada.vault.post.largeAccountPost([first.id: 1, second.id: 2])?.post.id == first.id)
    }

    @Test func `what was tried is remembered until it gets through`() throws {
      let memory = SendingMemory()
      let ids = try [1, 2].map { try #require(ParcelID([UInt8](repeating: $0, count: 16))) }
      for _ in 0..<2 { memory.begin(ids[0]) }
      memory.begin(ids[1])
      memory.end(ids[1])
      #expect(memory.attempts == [ids[0]: 2])
    }

    @Test func `what comes back is left three times, an hour apart, and only whoever it was for can say so`() {
      let (memory, hour) = (SendingMemory(), 3_600_000.0)
      for round in 0..<3 {
        let now = Double(round) * 2 * hour
        memory.leave([1], to: "cy@localhost")
        #expect(!memory.cameBack([1], from: "eve@localhost", at: now))
        #expect(memory.cameBack([1], from: "cy@localhost", at: now) == (round < 2))
        // The other parts of it.
        #expect(!memory.cameBack([1], from: "cy@localhost", at: now))
        #expect(memory.resting(at: now + hour - 1) == [[1]])
        #expect(memory.resting(at: now + hour) == [])
      }
    }

    @Test func `time runs while nothing gets on, and begins anew whenever something does`() {
      var standstill = Standstill(5, at: 100)
      #expect(standstill.time(5, at: 150) == 50)
      #expect(standstill.time(6, at: 180) == 0)
      #expect(standstill.time(6, at: 200) == 20)
    }
  }
}

extension Vault {
  /// An account that nobody connects.
  fileprivate func logInNowhere(peer: String, at address: String) throws {
    let account = AccountRecord(
      id: [UInt8](repeating: 3, count: 16), address: "ada@localhost", resource: "here", isCurrent: true)
    try accounts.useAccount(account, password: held("none"))
    try accounts.setAccountAddress(peer, to: address)
  }
}
