import SecretVault
import ServiceLifecycle

/// The part of the daemon that meets peers: those for whom something waits, and those who may carry it.
struct MeetingRunner: Service {
  let vault: Vault

  /// Seconds for which it is listened who is in the room.
  private static let seconds = 6

  func run() async throws {
    await cancelWhenGracefulShutdown {
      await vault.meetings.runMeetings { await Self.heard(vault) }
    }
  }

  /// Names of peers in the room. Without Bluetooth, or with trouble of its own, nobody is: the listener tells of that.
  private static func heard(_ vault: Vault) async -> Set<String> {
    guard vault.core.nearbySettings().isOn, let heard = try? await NearbyPeople.listen(vault, for: seconds) else {
      return []
    }
    return Set(heard.keys)
  }
}
