import Foundation
import GRDB
import Sodium

/// A call that a server still has to answer.
struct OwnerTask: Sendable {
  enum Kind: String, Sendable {
    case removeUser = "remove-user"
    case rotateKey = "rotate-key"
  }

  let id: Int64
  let server: RosterServer
  let user: ServerUserID
  let node: NodeID
  let kind: Kind
}

extension GroupTransaction {
  func add(_ kind: OwnerTask.Kind, _ server: RosterServer, _ user: ServerUserID, of node: NodeID) throws {
    try db.execute(
      sql: "INSERT INTO tasks (address, server_group, user, node, kind) VALUES (?, ?, ?, ?, ?)",
      arguments: [server.address, server.group.column, user.column, node.column, kind.rawValue])
  }

  func tasks() throws -> [OwnerTask] {
    try Row.fetchAll(db, sql: "SELECT * FROM tasks ORDER BY id").map { row in
      guard let kind = OwnerTask.Kind(rawValue: row["kind"]) else { throw GroupError.damaged("a task") }
      return OwnerTask(
        id: row["id"], server: try RosterServer(address: row["address"], group: row.name("server_group", "a task")),
        user: try row.name("user", "a task"), node: try row.name("node", "a task"), kind: kind)
    }
  }

  func finish(_ task: OwnerTask) throws {
    try db.execute(sql: "DELETE FROM tasks WHERE id = ?", arguments: [task.id])
  }

  private func context(_ node: NodeID, _ server: RosterServer) -> [UInt8] {
    node.bytes + server.group.bytes + Array(server.address.utf8)
  }

  /// Keeps a member's newest key on a server.
  func put(_ key: ServerKey, of node: NodeID, on server: RosterServer) throws {
    try db.execute(
      sql: """
        INSERT INTO member_keys (node, address, server_group, access_key) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET access_key = excluded.access_key
        """,
      arguments: [
        node.column, server.address, server.group.column,
        try seal(secret: key.secret, "member-key", context(node, server)),
      ])
  }

  /// A member's newest key on each server.
  func memberKeys(_ node: NodeID, _ servers: [RosterServer]) throws -> [ServerKey?] {
    try servers.map { server in
      let sealed = try Data.fetchOne(
        db, sql: "SELECT access_key FROM member_keys WHERE node = ? AND address = ? AND server_group = ?",
        arguments: [node.column, server.address, server.group.column])
      return try sealed.map { try ServerKey(open(secret: $0, "member-key", context(node, server)), .access) }
    }
  }

  func forgetKeys(of node: NodeID) throws {
    try db.execute(sql: "DELETE FROM member_keys WHERE node = ?", arguments: [node.column])
  }

  /// Which key and roster a member has confirmed, and when he was told last.
  func state(of node: NodeID) throws -> (epoch: UInt32, serial: UInt64, told: UInt64)? {
    try Row.fetchOne(db, sql: "SELECT * FROM member_states WHERE node = ?", arguments: [node.column]).map {
      ($0.epoch("epoch"), $0.number("serial"), $0.number("told_at"))
    }
  }

  func setState(of node: NodeID, epoch: UInt32, serial: UInt64) throws {
    try db.execute(
      sql: """
        INSERT INTO member_states (node, epoch, serial) VALUES (?, ?, ?)
        ON CONFLICT (node) DO UPDATE SET epoch = excluded.epoch, serial = excluded.serial
        """,
      arguments: [node.column, Int64(epoch), serial.column])
  }

  /// Of a member who has said nothing yet, the least is known.
  func beginState(of node: NodeID) throws {
    try db.execute(
      sql: "INSERT OR IGNORE INTO member_states (node, epoch, serial) VALUES (?, 1, 0)", arguments: [node.column])
  }

  func setTold(_ node: NodeID, at now: UInt64) throws {
    try db.execute(
      sql: "UPDATE member_states SET told_at = ? WHERE node = ?", arguments: [now.column, node.column])
  }

  /// The oldest key that a member may still need to be reached.
  func oldestEpochInUse(_ members: [NodeID]) throws -> UInt32? {
    try members.map { try state(of: $0)?.epoch ?? 1 }.min()
  }
}
