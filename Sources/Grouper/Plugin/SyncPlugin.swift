/// The name of an object in a group.
public struct ObjectName: Hashable, Sendable {
  /// Its class, one of the entities.
  public let className: String
  /// Its id, among those of its class.
  public let objectID: String

  public init(className: String, objectID: String) {
    self.className = className
    self.objectID = objectID
  }
}

/// An object as it travels.
public struct MarshalledObject: Hashable, Sendable {
  public let name: ObjectName
  /// Its bytes, in whatever form the plugin gives it.
  public let content: [UInt8]
  /// Files that it names; they are sent before (``Grouper/Grouper/addFile(path:)``).
  public let files: [FileReference]

  public init(name: ObjectName, content: [UInt8], files: [FileReference] = []) {
    self.name = name
    self.content = content
    self.files = files
  }
}

/// A change that has come.
public struct RemoteChange: Hashable, Sendable {
  public let name: ObjectName
  /// Whose change it is.
  package let version: ObjectVersion
  /// The sender's name in the message.
  public let senderName: String
}

/// How a group's objects get into an application's store and out of it (the thesis's Table 4.2). ``CodableStore`` is one;
/// an application that keeps its objects itself writes its own.
///
/// Which version of an object counts is decided before: a plugin is only handed what is to be stored, in each sender's
/// order. A change may come twice, after a crash for example: storing it again must change nothing.
public protocol SyncPlugin: Sendable {
  /// Whether `updateRemote` is to be called for this device's own updates, too: true for a plugin that is the
  /// application's store, false where the application has stored the object itself before it calls `update`.
  var storesOwnUpdates: Bool { get }

  /// Is told once, before anything else, by whom it is called: a plugin that reads or writes files of the group, or changes
  /// something in return, does it with this. It must not hold it strongly, or neither ever ends.
  func began(_ grouper: Grouper) async

  /// Marshals an object and returns its bytes.
  func marshal(_ object: any Sendable) throws -> MarshalledObject

  /// Unmarshals the bytes and puts the object into the store.
  func updateRemote(_ content: [UInt8], _ change: RemoteChange) async throws

  /// Deletes the object from the store. That there is none is no error.
  func deleteRemote(_ change: RemoteChange) async throws
}

extension SyncPlugin {
  /// Most need nothing of the group.
  public func began(_ grouper: Grouper) async {}
}

/// What becomes of changes of one object that didn't know of each other.
public enum ConflictPolicy: Sendable {
  /// The newest wins, everywhere the same one: by hybrid logical time, then by member.
  case newestWins
  /// All are kept until somebody decides. Until then the newest is what the plugin has.
  case keepConflicts(any ConflictHandler)

  var keeps: Bool { if case .keepConflicts = self { true } else { false } }
}

/// Versions of one object that didn't know of each other.
public struct ObjectConflict: Sendable {
  public struct Candidate: Sendable {
    package let version: ObjectVersion
    /// The sender's name in the message.
    public let senderName: String
    /// The object's bytes; nil if the object is gone in this version.
    public let content: [UInt8]?
    /// Files that it names.
    public let files: [FileReference]
  }

  public let name: ObjectName
  /// At least two, the newest first.
  public let candidates: [Candidate]
}

/// What an application decides about a conflict. It is sent to all as a change that knows of all candidates.
public enum ConflictDecision: Sendable {
  /// Nothing yet. It is asked again when another version comes.
  case later
  /// The candidate at this place.
  case keep(Int)
  /// Something new: the object's bytes and files.
  case replace([UInt8], files: [FileReference])
  /// The object goes.
  case delete
}

/// Decides about conflicts: the application, which may ask its user.
public protocol ConflictHandler: Sendable {
  /// Decides. Members may decide the same conflict at the same time: if they decide alike it is settled, else it is a new one.
  func decide(_ conflict: ObjectConflict) async -> ConflictDecision
}
