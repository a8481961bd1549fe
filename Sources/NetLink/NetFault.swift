/// Why the helper `vault-net` is of no use now, in plain words.
package enum NetFault: Error, Hashable, CustomStringConvertible {
  case missing(candidates: [String])
  /// It couldn't be started: why.
  case unstartable(String)
  /// Too many files are open in this program for one more connection.
  case tooManyFiles
  /// It is gone: how.
  case ended(String)
  case silent
  case senseless
  /// It isn't the one that belongs to this program: its version.
  case otherVersion(String)
  /// More waits to be given to it than it takes.
  case busy
  /// It takes no such thing, so it wasn't asked: why.
  case unsendable(String)

  package var description: String {
    switch self {
    case .missing: "the program vault-net, which speaks to servers, is missing"
    case .unstartable(let reason): "the helper vault-net can't be started: \(reason)"
    case .tooManyFiles: "too many files are open in this program to start the helper vault-net"
    case .ended(let how): "the helper vault-net \(how); try again"
    case .silent: "the helper vault-net doesn't answer; try again"
    case .senseless: "the helper vault-net said something that makes no sense; install vault and vault-net anew"
    case .otherVersion(let version):
      "the helper vault-net is of version \(version), and this program of \(NetVersion.text); install both anew"
    case .busy: "the helper vault-net takes nothing more"
    case .unsendable(let reason): "this can't be asked of a server: \(reason)"
    }
  }

  /// What to do, where the network has no part in it.
  package var hint: String? {
    switch self {
    case .missing(let candidates): "it comes with vault: install it as \(candidates.joined(separator: " or "))"
    case .unstartable: "does `vault-net --version` run? it comes with vault: if not, install both anew"
    case .otherVersion: "vault and vault-net come together: install both anew, and start the daemon again"
    default: nil
    }
  }
}
