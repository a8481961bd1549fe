import Logging
package import PeerAuth
package import Sodium
package import VaultStore

/// An open vault: its rooms, each of which does one thing, and what each may touch.
///
/// One process may open it many times over, and many processes at once; what they share is the store. Everything secret that
/// it keeps in memory lies in ``SecretBytes``.
package final class Vault: Sendable {
  package let core: VaultCore
  package let directory: Directory
  package let introductions: Introductions
  package let circles: Circles
  package let trust: TrustList
  package let links: Links
  package let letters: GroupLetters
  package let carrying: Carrying
  package let accounts: Accounts
  package let post: Post
  package let messages: Messages
  package let consent: Consent
  package let sharing: Sharing
  package let recovering: Recovering
  package let changing: Changing
  package let checking: Checking
  package let items: Items
  package let intake: Intake
  package let meetings: Meetings
  package let answering: Answering
  package let overview: Overview
  package let archive: Archive

  private init(_ core: VaultCore) {
    self.core = core
    directory = Directory(core)
    introductions = Introductions(core, directory)
    circles = Circles(core, directory, introductions)
    trust = TrustList(core, directory, introductions, circles)
    links = Links(core, directory, introductions, trust)
    letters = GroupLetters(core, directory, links)
    carrying = Carrying(core)
    accounts = Accounts(core, directory)
    post = Post(core, directory, introductions, carrying, accounts)
    messages = Messages(core, directory, carrying, post)
    consent = Consent(core, directory, introductions, circles)
    sharing = Sharing(core, directory, introductions, circles, links, carrying, post)
    recovering = Recovering(core, directory, introductions, circles, links, post, consent, sharing)
    changing = Changing(core, directory, introductions, circles, trust, links, consent, recovering, post)
    checking = Checking(core, directory, introductions, links, recovering, changing)
    items = Items(core, directory, introductions, links, post, sharing, recovering)
    intake = Intake(core, introductions, post, messages, sharing, items)
    meetings = Meetings(core, directory, links, carrying, post, intake)
    answering = Answering(
      core, directory, introductions, circles, trust, letters, carrying, post, messages, consent, items, meetings)
    overview = Overview(core, directory, circles, trust, post, consent, sharing, items)
    archive = Archive(core)
  }

  /// Makes a vault: folders, keys, identity. Throws ``VaultError/Code/vaultExists`` if there is one.
  /// A passphrase counts byte for byte, as it was typed; nil leaves the device key as the only protection.
  package static func create(
    at folders: VaultFolders, label: String, addresses: [PeerAddress], passphrase: consuming SecretBytes?,
    environment: VaultEnvironment
  ) throws -> Vault {
    guard try !folders.holdsVault() else { throw exists(folders) }
    let (identity, card) = try makeIdentity(label: label, addresses: addresses)
    let creation = try begin(folders, passphrase)
    let keys = creation.keys
    let database = try creation.makeDatabase()
    try store(identity, card, in: database, at: environment.now())
    // A vault that was never closed must not hang on its log alone.
    database.emptyLog()
    // From here on it is a vault, and a whole one.
    try creation.commit()
    return Vault(
      VaultCore(
        folders: folders, keys: keys, database: database, identity: identity, environment: environment))
  }

  private static func begin(
    _ folders: VaultFolders, _ passphrase: borrowing SecretBytes?
  ) throws -> VaultCreation {
    do { return try VaultCreation(in: folders, passphrase: passphrase) } catch StoreError.alreadyExists {
      // Somebody else was quicker.
      throw exists(folders)
    } catch { throw error }
  }

  private static func exists(_ folders: VaultFolders) -> VaultError {
    VaultError(
      .vaultExists, "there is a vault in \(folders.data) already",
      hint: "use another folder with --home, or look at it with `vault id`")
  }

  private static func makeIdentity(
    label: String, addresses: [PeerAddress]
  ) throws -> (Identity, PeerCard) {
    let identity: Identity
    do { identity = try Identity.generate() } catch { throw VaultError(.other, "no keys could be made: \(error)") }
    do {
      return (identity, try identity.card(label: label, addresses: addresses, serial: 1))
    } catch {
      throw VaultError(
        .usage, "the label or an address can't stand in a card",
        hint: "a label has at most 64 bytes and no control characters")
    }
  }

  private static func store(
    _ identity: Identity, _ card: PeerCard, in database: VaultDatabase, at now: Int64
  ) throws {
    let beacon = try freshSecret(PeerCard.beaconKeyByteCount)
    do {
      let record = IdentityRecord(
        card: try card.encoded(), serial: Int64(clamping: card.serial), label: card.label,
        addresses: card.addresses.map(\.description), createdAt: now)
      let secrets = try identity.stored()
      try database.createIdentity(record, secrets: secrets, beaconKey: beacon)
    } catch {
      throw VaultError(known: error) ?? VaultError(.other, "the identity could not be stored: \(error)")
    }
  }

  /// Opens a vault. Only if it has a passphrase, `stretched` is asked for what ``stretchedPassphrase(at:passphrase:)`` made of
  /// it before, and `passphrase` for the passphrase itself if there is no such thing or it doesn't fit.
  package static func open(
    at folders: VaultFolders, passphrase: () throws -> SecretBytes,
    stretched: () -> SecretBytes? = { nil }, environment: VaultEnvironment
  ) throws -> Vault {
    let keys = try VaultCore.unlock(folders, passphrase, stretched)
    let database: VaultDatabase
    do { database = try VaultDatabase(folders, keys: keys) } catch {
      throw VaultError(error, namingSharesIn: CompanionFiles(folders, keys: keys))
    }
    let identity: Identity
    do {
      identity = try Identity(stored: try database.identitySecrets())
    } catch let error as StoreError {
      throw VaultError(error, namingSharesIn: CompanionFiles(folders, keys: keys))
    } catch {
      throw VaultError(.damaged, "the keys stored in \(folders.data) are damaged")
    }
    // What an interrupted command has left. If it fails, the next opening tries again.
    let report = try? database.cleanIfDue(at: environment.now())
    let vault = Vault(
      VaultCore(
        folders: folders, keys: keys, database: database, identity: identity, environment: environment))
    vault.core.keepCardCopy()
    database.noteSettings()
    vault.directory.note(takenUp: report?.takenUp ?? (try? database.takeUpLost(thoroughly: false)) ?? [])
    if report == nil { _ = try? database.takeUpLostItems(thoroughly: false) }
    return vault
  }

  /// Writes what is buffered, and ends the use of the vault.
  package func close() { core.database.finish() }
}
