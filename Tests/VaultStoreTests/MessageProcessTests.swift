import Glibc
import Sodium
import Testing
import VaultProtocol

@testable import VaultStore

/// Sudden ends: with real second processes.
@Suite struct MessageProcessTests {
  @Test func `nothing that was stored is lost when the process is killed, and nothing is there by halves`() async throws
  {
    let home = try TestHome()
    do {
      let database = try home.makeDatabase()
      try database.addPeer(samplePeer("cleo"), beaconKey: nil)
    }
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = home.path as String] in
      let folders = VaultFolders(home: path)
      let database = try VaultDatabase(folders, keys: VaultKeys.unlock(folders, passphrase: nil))
      for number in 1...5 as ClosedRange<UInt8> {
        let message = try sampleMessage(number, .sent, .waiting)
        let parcels = [(record: try sampleParcel(number + 100, of: message), content: Optional([number]))]
        try #require(
          try database.addMessage(message, parts: [0: held("text \(number)")], parcels: parcels) == Int64(number))
        try carry(database, number, [number])
      }
      try database.setAccount(sampleAccount(1))
      try database.setAccountPassword(sampleID(1), text("password"))
      _ = try database.confirmParcel(sampleID(101)) { $0.state = .delivered }
      // In the middle of storing another one.
      try database.write { db in
        _ = try database.insertMessage(sampleMessage(6, .sent, .waiting), db)
        try db.execute(sql: "DELETE FROM parcels")
        try VaultDatabase.removeCarried(db)
        kill(getpid(), SIGKILL)
      }
    }
    let database = try home.reopen()
    #expect(try database.messages().map { $0.id[0] } == [5, 4, 3, 2, 1])
    #expect(try database.message(number: 1)?.state == .delivered)
    #expect(try database.parcel(sampleID(101))?.state == .answered)
    let courier = try database.readCourier(own: device(0))
    #expect(courier.satchel.parcels.count == 5)
    for number in 1...5 as ClosedRange<UInt8> {
      let said = try #require(try database.messagePart(Int64(number), part: 0))
      #expect(publicCopy(said.bytes) == Array("text \(number)".utf8))
      #expect(try database.parcelContent(sampleID(number + 100)) == (number == 1 ? nil : [number]))
      #expect(try database.carriedContent(sampleHeader(number, 1).copy) == [number])
    }
    let password = try #require(try database.accountPassword(sampleID(1)))
    #expect(publicCopy(password.bytes) == Array("password".utf8))
    #expect(try database.addMessage(sampleMessage(6, .sent, .waiting), parts: [:]) == 6)
  }

  @Test func `of one message that comes in two processes at once, one is stored`() async throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.addPeer(samplePeer("cleo"), beaconKey: nil)
    let pools = try [database, home.reopen(), home.reopen()]
    let stored = try await withThrowingTaskGroup(of: Int.self) { group in
      for pool in pools {
        group.addTask {
          var stored = 0
          for number in 0..<20 as Range<UInt8> {
            let message = try sampleMessage(number, .received, .new)
            if try pool.addMessage(message, parts: [0: held("text")]) != nil { stored += 1 }
          }
          return stored
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(stored == 20)
    #expect(try database.messages().count == 20)
  }
}
