import Testing

@testable import SecretVault
@testable import VaultCLI

@Suite("The JSON of each result is a contract")
struct ResultJSONTests {
  @Test func peer() {
    #expect(
      Samples.peer.json.text == #"""
        {"name":"Bob","label":"Bob \u001b[31m","state":"proven","fingerprint":"01234 56789 01234 56789 01234",\#
        "cardDigest":"abcd","addresses":[],"card":"vaultpeer1qq","addedAt":"2026-11-21T03:15:54.120Z",\#
        "lastSeenAt":null,"deviceOf":null}
        """#)
  }

  @Test func peerAdditionAndRemoval() {
    let peer = Samples.peer.json.text
    #expect(PeerAddition(peer: Samples.peer, change: .added).json.text == #"{"change":"added","peer":\#(peer)}"#)
    #expect(
      PeerRemoval(
        peer: Samples.peer, destroyedDeliveries: [SecretReference(id: "a", name: "papers")],
        stillHolds: [SecretReference(id: "b", name: "keys"), SecretReference(id: "c", name: "c")]
      ).json.text
        == #"{"peer":\#(peer),"destroyedDeliveries":["a"],"stillHolds":["b","c"]}"#)
  }

  @Test func requestsAndPolicies() {
    let release = VaultRequest(
      id: 3, kind: .release, peer: "Bob", fingerprint: "01234", secret: "4be1", description: nil, byteCount: nil,
      state: .waiting, askedAt: 0, releasesAt: 1000, endsAt: 2000)
    #expect(
      release.json.text == #"""
        {"id":3,"kind":"release","peer":"Bob","fingerprint":"01234","secret":"4be1","description":null,"bytes":null,\#
        "state":"waiting","askedAt":"1970-01-01T00:00:00.000Z","releasesAt":"1970-01-01T00:00:01.000Z",\#
        "endsAt":"1970-01-01T00:00:02.000Z","change":null}
        """#)
    let policy = SecretPolicy(
      secret: SecretReference(id: "4be1", name: "keys"), policy: .delay(172_800_000), isDefault: false)
    #expect(policy.json.text == #"{"secret":"4be1","policy":"delay:2d","isDefault":false}"#)
  }

  @Test func ping() {
    let report = PingReport(
      peer: Samples.peer, handshakeMilliseconds: 12.34567, roundTripMilliseconds: 0.5, address: "127.0.0.1:4721")
    #expect(
      report.json.text == #"""
        {"peer":\#(Samples.peer.json.text),"address":"127.0.0.1:4721","handshakeMilliseconds":12.346,\#
        "roundTripMilliseconds":0.500}
        """#)
  }

  @Test func secrets() {
    #expect(
      Samples.secret.json.text == #"""
        {"id":"4be1c0ffee00112233445566778899aa","description":"house \"keys\"\n","kind":"file","origin":"dealt",\#
        "dealer":"you","threshold":2,"shareCount":3,"ownIndex":1,"createdAt":"2026-11-21T03:15:54.120Z",\#
        "delivered":1,"waiting":1,"unlocked":false}
        """#)
    #expect(
      Samples.held.json.text == #"""
        {"id":"4be1c0ffee00112233445566778899aa","description":null,"kind":"note","origin":"held",\#
        "dealer":"Carol","threshold":2,"shareCount":3,"ownIndex":2,"createdAt":"2026-11-21T03:15:54.120Z",\#
        "delivered":null,"waiting":null,"unlocked":false}
        """#)
  }

  @Test func secretDetails() {
    let details = SecretDetails(
      summary: Samples.secret, ciphertextByteCount: 1040, fragmentByteCount: 520, labels: ["you", "Bob"],
      deliveries: Samples.deliveries, headerDigest: "ff00", conflictingHeadersFrom: [])
    #expect(
      details.json(ParcelText()).text == #"""
        {"secret":\#(Samples.secret.json.text),"ciphertextBytes":1040,"fragmentBytes":520,"labels":["you","Bob"],\#
        "deliveries":[{"peer":"Bob","index":2,"state":"delivered","reason":null,"onItsWay":null,"probe":null},\#
        {"peer":"Carol","index":3,"state":"unreachable","reason":"did not answer in time","onItsWay":null,"probe":null}],\#
        "headerDigest":"ff00","conflictingHeadersFrom":[],"listensNowhere":[],"lastCheck":null,"change":null}
        """#)
  }

  @Test func shareReport() {
    #expect(
      Samples.report([.delivered, .waiting], threshold: 2, leftOut: ["Dave"]).json(ParcelText()).text == #"""
        {"id":"4be1c0ffee00112233445566778899aa","description":"keys","threshold":2,"shareCount":3,"placed":2,\#
        "recoverable":true,"finished":false,"keepsOwnShare":true,"deliveries":[\#
        {"peer":"peer0","index":2,"state":"delivered","reason":null,"onItsWay":null,"probe":null},\#
        {"peer":"peer1","index":3,"state":"waiting","reason":null,"onItsWay":null,"probe":null}],"leftOut":["Dave"],\#
        "sourceRemoved":false,"listensNowhere":[],"introduced":false}
        """#)
  }

  @Test func deliveryOnItsWay() {
    var delivery = Delivery(peer: "Carol", index: 3, state: .unreachable, reason: "did not answer in time")
    delivery.onItsWay = ParcelWay(folder: [1, 2, 3, 4, 5, 6, 7, 8], since: 1000)
    #expect(
      ParcelText(names: ["0102030405060708": "Family"]).json(delivery).text == #"""
        {"peer":"Carol","index":3,"state":"unreachable","reason":"did not answer in time","onItsWay":\#
        {"group":"Family","groupID":"0102030405060708","since":"1970-01-01T00:00:01.000Z",\#
        "routes":["group"]},"probe":null}
        """#)
    (delivery.onItsWay, delivery.probe) = (nil, ParcelWay(folder: [], since: 1000, routes: ["carriers"]))
    #expect(
      ParcelText().json(delivery).text == #"""
        {"peer":"Carol","index":3,"state":"unreachable","reason":"did not answer in time","onItsWay":null,"probe":\#
        {"group":null,"groupID":null,"since":"1970-01-01T00:00:01.000Z","routes":["carriers"]}}
        """#)
  }

  @Test func waysOfParcelsHaveWords() {
    let text = ParcelText(names: ["0102030405060708": "Family"])
    let group: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
    #expect(
      text.words(ParcelWay(folder: group, since: 1000))
        == "on its way through the group Family, since 1970-01-01 00:00 UTC")
    #expect(
      text.short(ParcelWay(folder: group, since: 0, routes: ["account", "group"]), to: "Carol")
        == "on its way to Carol through the XMPP account and through the group Family")
    #expect(
      text.short(ParcelWay(folder: [], since: 0, routes: ["carriers"]), to: "Carol")
        == "ready for whoever carries it to Carol")
    #expect(text.short(ParcelWay(folder: [], since: 0, routes: [])) == "ready for whoever carries it")
  }

  @Test func recoveryReport() {
    let report = RecoveryReport(
      secret: Samples.held, path: "./note.txt", suggestedName: "note.txt", byteCount: 12,
      holders: [HolderOutcome(peer: "Bob", state: .answered, reason: nil)])
    #expect(
      report.json.text == #"""
        {"secret":\#(Samples.held.json.text),"path":"./note.txt","suggestedName":"note.txt","bytes":12,\#
        "originalName":null,"holders":[{"peer":"Bob","state":"answered","reason":null}]}
        """#)
  }

  @Test func deletionLogSettingAndNotification() {
    let consequence = DeletionConsequence(
      secret: Samples.held, makesUnrecoverable: true, explanation: "gone", waitingDeliveries: [], items: [])
    #expect(
      consequence.json.text
        == #"{"secret":\#(Samples.held.json.text),"makesUnrecoverable":true,"explanation":"gone","waitingDeliveries":[],"items":[]}"#
    )
    #expect(
      LogEntry(at: 0, event: "refused", peer: "Bob", secret: nil, detail: nil).json.text
        == #"{"at":"1970-01-01T00:00:00.000Z","event":"refused","peer":"Bob","secret":null,"detail":null}"#)
    #expect(
      Setting(key: "listen", value: "a:1", defaultValue: "b:2", explanation: "where").json.text
        == #"{"key":"listen","value":"a:1","default":"b:2","explanation":"where"}"#)
    let event = VaultEnvironment.Notification(
      event: "share-received", peer: "Bob", secret: "4be1", description: nil, detail: nil, at: 0)
    #expect(
      event.json.text == #"""
        {"event":"share-received","peer":"Bob","secret":"4be1","description":null,"detail":null,\#
        "at":"1970-01-01T00:00:00.000Z"}
        """#)
  }

  @Test func error() {
    let error = VaultError(.belowThreshold, "2 of 3 shares", hint: "ask carol")
    #expect(
      error.json.text
        == #"{"error":{"code":"belowThreshold","exit":4,"reason":"2 of 3 shares","hint":"ask carol"}}"#)
  }

  @Test func aPeersTextMakesNoLinesOfItsOwnInAnError() {
    let error = VaultError(.usage, "Bob\nvault: all is well", hint: "ask \u{2028}Bob\nhint: no")
    let list = ["4be1  keys\n4be2  forged", "4be3"]
    #expect(
      Console.lines(of: error, list: list, json: false) == [
        "vault: Bob\\nvault: all is well", "  4be1  keys\\n4be2  forged", "  4be3", "hint: ask \\u{2028}Bob\\nhint: no",
      ])
    let json = Console.lines(of: error, list: list, json: true)
    #expect(json.count == 1 && json[0].contains(#"well\n4be1  keys\\n4be2  forged\n4be3"#), "\(json)")
  }

  @Test func textsAreEscapedWithoutLoss() {
    #expect(JSONValue.string("\u{202E}\u{1F512}\u{E0041}\"\\").text == #""\u202e🔒\udb40\udc41\"\\""#)
    #expect(JSONValue.array([.null, .bool(true), .integer(-5), .decimal(.infinity)]).text == "[null,true,-5,null]")
    #expect(JSONValue(UInt64.max).text == "9223372036854775807")
  }
}
