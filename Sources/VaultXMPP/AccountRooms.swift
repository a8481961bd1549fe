import SecretVault

/// What a connection of an account may touch; who opens one hands it on.
struct AccountRooms: Sendable {
  let core: VaultCore
  let accounts: Accounts
  let post: Post
  let messages: Messages
  let intake: Intake
  let meetings: Meetings
  let answering: Answering

  init(_ vault: Vault) {
    core = vault.core
    accounts = vault.accounts
    post = vault.post
    messages = vault.messages
    intake = vault.intake
    meetings = vault.meetings
    answering = vault.answering
  }
}
