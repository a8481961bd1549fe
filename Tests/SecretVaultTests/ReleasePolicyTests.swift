import PeerAuth
import ShamirKit
import Sodium
import TestTime
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

extension VaultTests {
  /// Ada dealt to ben, cleo and dan; eva is a peer without a share. Whoever asks wants ben's share, and ben's user decides.
  @Suite struct ReleasePolicies {
    let world: TestWorld
    let header: SecretHeader
    let id: String

    init() async throws {
      world = try TestWorld(5)
      _ = try world[1].vault.core.set("notify-command", to: "tell")
      id = try await world.share(randomBytes(20_000), threshold: 3, to: [1, 2, 3]).id
      header = try world[0].header(id)
    }

    private var ben: Vault { world[1].vault }

    private func ask(by member: Int, _ header: SecretHeader? = nil) async throws -> RefusalReason? {
      let header = header ?? self.header
      let requester = try await HostileRequester(world[member], dials: world[1], in: world)
      let nonce = try await requester.ask(header)
      let answer = try await requester.submit(requester.proof(header, nonce: nonce))
      await requester.session.close()
      return answer
    }

    private func only() throws -> VaultRequest {
      let requests = try ben.consent.requests()
      #expect(requests.count == 1)
      return try #require(requests.first)
    }

    @Test func `what ben's user is asked about is released once approved, to that peer and of that secret alone`()
      async throws
    {
      _ = try ben.consent.setReleasePolicy(.ask, of: id)
      #expect(try await ask(by: 2) == .userAsked)
      let request = try only()
      #expect(request.peer == "cleo" && request.kind == .release && request.secret == id && request.state == .waiting)
      #expect(request.fingerprint == (try world[2].vault.core.ownIdentity().fingerprint))
      let other = try await world.share([1, 2, 3], threshold: 3, to: [1, 2, 3]).id
      _ = try ben.consent.setReleasePolicy(.ask, of: other)
      _ = try await ben.consent.approveRequest(request.id)
      #expect(try await ask(by: 2) == nil)
      #expect(try await ask(by: 3) == .userAsked)
      #expect(try await ask(by: 2, world[0].header(other)) == .userAsked)
      #expect(try ben.consent.requests().count == 3)
    }

    @Test func `a peer that takes the name of an approved one isn't it`() async throws {
      _ = try ben.consent.setReleasePolicy(.ask, of: id)
      #expect(try await ask(by: 2) == .userAsked)
      _ = try await ben.consent.approveRequest(only().id)
      _ = try ben.trust.renamePeer("cleo", to: "someone")
      _ = try ben.trust.renamePeer("dan", to: "cleo")
      #expect(try await ask(by: 3) == .userAsked)
      #expect(try await ask(by: 2) == nil)
    }

    @Test func `repetitions are one request, and only the first one is told to the user`() async throws {
      _ = try ben.consent.setReleasePolicy(.ask, of: id)
      for _ in 0..<3 { #expect(try await ask(by: 2) == .userAsked) }
      let request = try only()
      let told = world.notifications.told(to: world[1]).filter { $0.event.event == "release-requested" }
      #expect(told.count == 1)
      let detail = try #require(told.first?.event.detail)
      #expect(detail.contains(request.fingerprint) && detail.contains("request \(request.id) "))
      let lines = try ben.overview.log(limit: 100)
      #expect(lines.count { $0.event == "release-requested" } == 1)
      #expect(lines.count { $0.event == "release-awaited" } == 2)
    }

    @Test func `whoever has proved nothing is told what everybody is told, and leaves no request`() async throws {
      _ = try ben.core.set("release-policy", to: "ask")
      let eva = try await HostileRequester(world[4], dials: world[1], in: world)
      let nonce = try await eva.ask(header)
      #expect(try await eva.submit(eva.proof(header, nonce: nonce, share: world[2])) == .unavailable)
      let again = try await eva.ask(header, request: 2)
      #expect(
        try await eva.submit(eva.proof(header, nonce: again, request: 2, share: world[2], prover: world[2]))
          == .unavailable)
      #expect(try ben.consent.requests().isEmpty)
      // Nor does one who was approved get around the proof.
      #expect(try await ask(by: 2) == .userAsked)
      _ = try await ben.consent.approveRequest(only().id)
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let other = try await cleo.ask(header)
      #expect(try await cleo.submit(cleo.proof(header, nonce: other, purpose: .drill)) == .unavailable)
    }

    @Test func `a delay runs on ben's clock, survives a restart, and ends in a release`() async throws {
      _ = try ben.consent.setReleasePolicy(.delay(2 * 86_400_000), of: id)
      #expect(try await ask(by: 2) == .releaseDelayed)
      #expect(try only().releasesAt.map { $0 > world.clock.now + 86_400_000 } == true)
      world.clock.advance(milliseconds: 86_400_000)
      try world[1].restart()
      #expect(try await ask(by: 2) == .releaseDelayed)
      world.clock.advance(milliseconds: 86_400_000)
      #expect(try await ask(by: 2) == nil)
    }

    @Test func `ben's veto outlasts the delay, and what was refused is asked anew later`() async throws {
      _ = try ben.consent.setReleasePolicy(.delay(3_600_000), of: id)
      #expect(try await ask(by: 2) == .releaseDelayed)
      _ = try ben.consent.refuseRequest(only().id, for: 2 * 86_400_000)
      world.clock.advance(milliseconds: 86_400_000)
      #expect(try await ask(by: 2) == .notAccepted)
      world.clock.advance(milliseconds: 86_400_000)
      #expect(try await ask(by: 2) == .releaseDelayed)
    }

    @Test func `an approval ends, and can be taken back before`() async throws {
      _ = try ben.consent.setReleasePolicy(.ask, of: id)
      #expect(try await ask(by: 2) == .userAsked)
      let request = try only()
      _ = try await ben.consent.approveRequest(request.id, for: 3_600_000)
      #expect(try await ask(by: 2) == nil)
      world.clock.advance(milliseconds: 3_600_000)
      #expect(try await ask(by: 2) == .userAsked)
      let second = try only()
      #expect(second.id != request.id)
      let late = await refusal { try await ben.consent.approveRequest(request.id) }
      #expect(late?.code == .notFound)
      _ = try await ben.consent.approveRequest(second.id)
      _ = try ben.consent.refuseRequest(second.id)
      #expect(try await ask(by: 2) == .notAccepted)
    }

    @Test func `a clock that goes back while nobody asks gives nothing away`() async throws {
      _ = try ben.consent.setReleasePolicy(.delay(2 * 86_400_000), of: id)
      world.clock.turn(milliseconds: -3 * 86_400_000)
      #expect(try await ask(by: 2) == .releaseDelayed)
      world.clock.turn(milliseconds: 3 * 86_400_000)
      #expect(try await ask(by: 2) == .releaseDelayed)
    }

    @Test func `the approvals of a peer that was removed die, also for when it comes back`() async throws {
      _ = try ben.consent.setReleasePolicy(.ask, of: id)
      #expect(try await ask(by: 2) == .userAsked)
      _ = try await ben.consent.approveRequest(only().id)
      _ = try ben.trust.removePeer("cleo")
      #expect(try ben.consent.requests().isEmpty)
      try world[1].meets(world[2])
      #expect(try await ask(by: 2) == .userAsked)
    }

    @Test func `a deleted secret takes its policy and its requests along`() async throws {
      _ = try ben.consent.setReleasePolicy(.ask, of: id)
      #expect(try await ask(by: 2) == .userAsked)
      _ = try ben.overview.delete(id)
      #expect(try ben.consent.requests().isEmpty)
      #expect(try ben.core.database.policy(ofSecret: header.id) == nil)
    }

    @Test func `the default is the setting's, a secret's own comes first, and default takes it away`() async throws {
      #expect(try ben.consent.releasePolicy(of: id).policy == .auto)
      _ = try ben.core.set("release-policy", to: "ask")
      #expect(try ben.consent.releasePolicy(of: id).policy == .ask)
      #expect(try await ask(by: 2) == .userAsked)
      #expect(
        try ben.consent.setReleasePolicy(.auto, of: id)
          == SecretPolicy(
            secret: ben.directory.secretReference(header.id), policy: .auto, isDefault: false))
      #expect(try await ask(by: 2) == nil)
      #expect(try ben.consent.requests().isEmpty)
      #expect(try ben.consent.setReleasePolicy(nil, of: id).isDefault)
      #expect(try await ask(by: 2) == .userAsked)
    }

    @Test func `settings, policies and requests that were changed behind the program's back release nothing`()
      async throws
    {
      _ = try ben.core.set("release-policy", to: "ask")
      #expect(try await ask(by: 2) == .userAsked)
      try world[1].rewriteSettings { $0.replacing("\"ask\"", with: "\"auto\"") }
      #expect(try await ask(by: 2) == .internalFailure)
      try world[1].rewriteSettings { $0.replacing("\"auto\"", with: "\"ask\"") }
      #expect(try await ask(by: 2) == .userAsked)
      try world[1].execute("UPDATE requests SET state = 'approved'")
      #expect(try await ask(by: 2) == .internalFailure)
      try world[1].execute("UPDATE requests SET state = 'waiting'")
      #expect(try await ask(by: 2) == .userAsked)
      _ = try ben.consent.setReleasePolicy(.ask, of: id)
      try world[1].execute("UPDATE policies SET policy = 'auto'")
      #expect(try await ask(by: 2) == .internalFailure)
    }

    @Test func `one peer's flood of requests neither drives out nor keeps out another's`() async throws {
      _ = try ben.core.set("release-policy", to: "ask")
      #expect(try await ask(by: 3) == .userAsked)
      let cleo = try ben.directory.find("cleo")
      for number in 0..<ReleaseConsent.limitOfPeer {
        try ben.core.database.changeRequest(
          .release, of: cleo.digest, secret: SecretID(high: 0, low: UInt64(number)), at: world.clock.now
        ) { (row, _) throws(StoreError) in
          row = RequestRecord(
            kind: .release, peer: cleo.digest, secretID: SecretID(high: 0, low: UInt64(number)),
            headerDigest: header.digest, askedAt: world.clock.now, endsAt: world.clock.now + 1_000_000)
        }
      }
      #expect(try await ask(by: 2) == .busy)
      #expect(try await ask(by: 3) == .userAsked)
      #expect(try await ask(by: 0) == .userAsked)
    }

    @Test func `a limit of secrets a day counts each secret once, each peer by itself, and ends with the day`()
      async throws
    {
      _ = try ben.core.set("release-limit", to: "1")
      let other = try world[0].header(try await world.share([1, 2, 3], threshold: 3, to: [1, 2, 3]).id)
      #expect(try await ask(by: 2) == nil)
      #expect(try await ask(by: 2) == nil)
      #expect(try await ask(by: 2, other) == .releaseLimit)
      #expect(
        try ben.overview.log(limit: 100).contains { $0.event == "refused" && $0.detail?.contains("limit of 1") == true }
      )
      #expect(try await ask(by: 3, other) == nil)
      try world[1].restart()
      #expect(try await ask(by: 2, other) == .releaseLimit)
      // The user's word goes beyond it.
      _ = try ben.consent.setReleasePolicy(.ask, of: other.id.description)
      #expect(try await ask(by: 2, other) == .userAsked)
      _ = try await ben.consent.approveRequest(only().id, for: 1000)
      #expect(try await ask(by: 2, other) == nil)
      _ = try ben.consent.setReleasePolicy(nil, of: other.id.description)
      world.clock.advance(milliseconds: 86_400_000)
      #expect(try await ask(by: 2, other) == nil)
    }

    @Test func `a recovery that only waits for others' word says so, in a code of its own`() async throws {
      for holder in 1...3 {
        _ = try world[holder].vault.core.set("release-policy", to: holder == 1 ? "delay:2d" : "ask")
      }
      let events = Collected<RecoveryEvent>()
      let error = await refusal { try await world.recover(by: 0) { events.add($0) } }
      #expect(error?.code == .awaitingConsent)
      #expect(error?.reason.contains("ben releases it in 48 hours unless vetoed") == true)
      #expect(error?.reason.contains("cleo asks its user; run it again later") == true)
      let waits = events.all.compactMap { event -> Int64?? in
        if case .waits(_, let until) = event { .some(until) } else { nil }
      }
      #expect(waits.count == 3 && waits.count { $0 == nil } == 2)
      #expect(world.desk(of: 0).isEmpty)
      #expect(try world[0].vault.overview.log(limit: 100).count { $0.event == "recovery-waits" } == 1)
    }

    @Test func `too few holders even if all that wait agreed is fewer than the threshold`() async throws {
      _ = try ben.core.set("release-policy", to: "ask")
      for holder in [2, 3] { world.set(.refuses, for: world[holder]) }
      #expect(await refusal { try await world.recover(by: 0) }?.code == .belowThreshold)
    }

    @Test func `holders that wait are counted apart when others are enough`() async throws {
      _ = try ben.core.set("release-policy", to: "ask")
      let report = try await world.recover(by: 0).report
      let state = report.holders.first { $0.peer == "ben" }?.state
      #expect(state == .waiting || state == nil)
      #expect(report.holders.count { $0.state == .answered } == 2)
    }

    @Test func `who waits patiently gets the file when the last holder has agreed`() async throws {
      for holder in 1...3 { _ = try world[holder].vault.core.set("release-policy", to: "ask") }
      let world = world
      let vault = world[0].vault
      let path = world[0].desk + "/patient"
      let pauses = Counter()
      let waiting = Task {
        try await vault.recovering.patiently(for: 600_000, waits: { _, _ in pauses.increment() }) { () async throws in
          try await vault.recovering.recover(nil, to: .file(path: path, overwrites: false)) { _ in }
        }
      }
      for holder in [1, 2] {
        let holder = world[holder].vault
        #expect(try await eventually { try !holder.consent.requests().isEmpty })
        _ = try await holder.consent.approveRequest(#require(holder.consent.requests().first).id)
      }
      for pause in [2000, 3000] { world.clock.pass(.milliseconds(pause)) }
      let report = try await waiting.value
      #expect(report.byteCount == 20_000)
      #expect(pauses.value >= 1)
    }

    @Test func `patience has an end, and leaves nothing`() async throws {
      for holder in 1...3 { _ = try world[holder].vault.core.set("release-policy", to: "ask") }
      let vault = world[0].vault
      let path = world[0].desk + "/patient"
      world.clock.pass(.milliseconds(100))
      let error = await refusal {
        try await vault.recovering.patiently(for: 100, waits: { _, _ in }) { () async throws in
          try await vault.recovering.recover(nil, to: .file(path: path, overwrites: false)) { _ in }
        }
      }
      #expect(error?.code == .awaitingConsent)
      #expect(world.desk(of: 0).isEmpty)
    }
  }
}
