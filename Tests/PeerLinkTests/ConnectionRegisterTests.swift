import PeerAuth
import Synchronization
import Testing

@testable import PeerLink

@Suite("The register of connections") struct ConnectionRegisterTests {
  private let ada: CardKeys
  private let ben: CardKeys

  init() throws {
    ada = try Identity.generate().keys
    ben = try Identity.generate().keys
  }

  /// A register whose connections note in which order they were sent away.
  private final class House: Sendable {
    let register: ConnectionRegister
    private let gone = Mutex<[String]>([])
    private let inside = Mutex<[String: Admission]>([:])

    private let clearsUp: Bool

    init(perAddress: Int, total: Int, clearsUp: Bool = true) {
      self.clearsUp = clearsUp
      register = ConnectionRegister(TCPListener.Limits(perAddress: perAddress, total: total))
    }

    /// Who had to go since the last question.
    var sentAway: [String] {
      gone.withLock { gone in
        defer { gone = [] }
        return gone
      }
    }

    /// Names begin with the letter of their address.
    @discardableResult
    func admit(_ name: String) -> Bool {
      let source = Array(name.utf8.prefix(1))
      let close: @Sendable () -> Void = { [weak self] in
        guard let self else { return }
        gone.withLock { $0.append(name) }
        if clearsUp { leave(name) }
      }
      guard let admission = register.admit(source, close: close) else { return false }
      inside.withLock { $0[name] = admission }
      return true
    }

    func reached(_ standing: PeerStanding, _ name: String) { inside.withLock { $0[name] }?.reached(standing) }

    func leave(_ name: String) { _ = inside.withLock { $0.removeValue(forKey: name) } }
  }

  @Test("counts IPv4 by address, IPv6 by network") func sources() throws {
    func source(_ host: String) throws -> [UInt8] {
      ConnectionRegister.source(of: try .init(ipAddress: host, port: 1))
    }
    #expect(try source("2001:db8::1") == source("2001:db8::ffff:1"))
    #expect(try source("2001:db8::1") != source("2001:db8:0:1::1"))
    #expect(try source("fe80::1") != source("fe80::2"))
    #expect(try source("::ffff:192.0.2.1") == source("192.0.2.1"))
    #expect(try source("192.0.2.1") != source("192.0.2.2"))
  }

  @Test("at the limit of an address its own oldest stranger goes") func perAddress() {
    let house = House(perAddress: 2, total: 10)
    for name in ["a1", "b1", "a2", "a3"] { #expect(house.admit(name)) }
    #expect(house.sentAway == ["a1"])
    house.leave("a2")
    #expect(house.admit("a4"))
    #expect(house.sentAway == [])
    #expect(house.register.total == 3)
  }

  @Test("in a full house somebody from the address with most strangers goes") func fairness() {
    let house = House(perAddress: 10, total: 5)
    for name in ["b1", "a1", "a2", "a3", "c1", "d1"] { #expect(house.admit(name)) }
    #expect(house.sentAway == ["a1"])
    // Now a has two, all others one.
    house.admit("e1")
    #expect(house.sentAway == ["a2"])
    // All have one: the oldest.
    house.admit("f1")
    #expect(house.sentAway == ["b1"])
  }

  @Test("who has begun a handshake outlasts who has not, and proven peers stay") func standing() {
    let house = House(perAddress: 3, total: 10)
    for name in ["a1", "a2", "a3"] { house.admit(name) }
    house.reached(.caller, "a1")
    house.reached(.caller, "a2")
    house.reached(.peer(ada), "a2")
    house.reached(.caller, "a2")
    house.admit("a4")
    #expect(house.sentAway == ["a3"])
    house.admit("a5")
    #expect(house.sentAway == ["a4"])
    house.reached(.caller, "a5")
    house.admit("a6")
    #expect(house.sentAway == ["a1"])
    house.reached(.peer(ada), "a5")
    house.reached(.peer(ada), "a6")
    #expect(!house.admit("a7"))
    #expect(house.sentAway == [])
    house.leave("a2")
    #expect(house.admit("a8"))
  }

  @Test("an address from which a peer has come lately is spared while there are others") func familiar() {
    let house = House(perAddress: 10, total: 3)
    house.admit("a1")
    house.reached(.peer(ada), "a1")
    house.leave("a1")
    for name in ["a2", "a3", "b1", "c1"] { house.admit(name) }
    #expect(house.sentAway == ["b1"])
    house.admit("d1")
    #expect(house.sentAway == ["c1"])
    house.leave("d1")
    for name in ["a4", "a5"] { house.admit(name) }
    #expect(house.sentAway == ["a2"])
    #expect(house.register.isFamiliar(Array("a".utf8)) && !house.register.isFamiliar(Array("b".utf8)))
  }

  @Test("somebody who has just come goes no sooner than others who have begun a handshake: its own may be on its way")
  func grace() {
    let house = House(perAddress: 8, total: 8)
    for letter in "abcdefgh" {
      house.admit("\(letter)1")
      house.reached(.caller, "\(letter)1")
    }
    // A quarter of the house is what may come meanwhile.
    house.admit("i1")
    house.admit("j1")
    house.admit("k1")
    #expect(house.sentAway == ["a1", "b1", "c1"])
    house.reached(.caller, "j1")
    house.admit("l1")
    #expect(house.sentAway == ["i1"])
    house.admit("m1")
    #expect(house.sentAway == ["d1"])
  }

  @Test("of an address from which a peer has come sixteen strangers are spared, and no more") func sparedStrangers() {
    let house = House(perAddress: 100, total: 20)
    house.admit("a0")
    house.reached(.peer(ada), "a0")
    house.leave("a0")
    for number in 1...18 { house.admit("a\(number)") }
    for name in ["b1", "b2", "c1", "d1", "e1", "f1"] { house.admit(name) }
    #expect(house.sentAway == ["a1", "a2", "b1", "b2"])
  }

  @Test("of each peer four addresses are remembered, those of others untouched") func addressesOfPeers() {
    let house = House(perAddress: 10, total: 100)
    func visit(_ name: String, _ peer: CardKeys) {
      house.admit(name)
      house.reached(.peer(peer), name)
      house.leave(name)
    }
    func familiar() -> String {
      "abcdefgh".filter { house.register.isFamiliar(Array(String($0).utf8)) }
    }
    visit("a1", ben)
    for name in ["a2", "b1", "c1", "d1", "b2"] { visit(name, ada) }
    #expect(familiar() == "abcd")
    visit("e1", ada)
    // Ben was there too.
    #expect(familiar() == "abcde")
    for name in ["f1", "g1"] { visit(name, ada) }
    #expect(familiar() == "abefg")
  }

  @Test("takes no more than twice the limits while nobody clears up, and more from where peers come from")
  func held() {
    let house = House(perAddress: 3, total: 4, clearsUp: false)
    house.admit("p0")
    house.reached(.peer(ada), "p0")
    house.leave("p0")
    for number in 0..<6 { #expect(house.admit("a\(number)")) }
    #expect(!house.admit("a6"))
    for number in 0..<2 { #expect(house.admit("b\(number)")) }
    #expect(!house.admit("c0"))
    for number in 1..<5 { #expect(house.admit("p\(number)")) }
    #expect(!house.admit("p5"))
    #expect(house.register.total == 4)
    for number in 0..<6 { house.leave("a\(number)") }
    #expect(house.admit("c0"))
  }
}
