import HTTPRequests
import WireCodec
import XMPPRequests

extension NetFrame {
  /// Throws if vault-net would end for one of these messages of `vault`, which belong together: what is too long is the
  /// fault of who asks for it, and no reason to lose what else vault-net is at.
  static func check(_ frames: [NetFrame]) throws(NetFault) {
    do throws(WireError) {
      for frame in frames {
        guard frame.byteCount - headByteCount <= frame.kind.limit else {
          throw .limitExceeded(field: "message", limit: frame.kind.limit)
        }
        switch frame.kind {
        case .request: _ = try HTTPRequest(encoded: frame.body)
        case .connect: _ = try ConnectMessage(encoded: frame.body)
        // With a password ahead it is nothing but the number of what is asked.
        case .ask where frames.count == 1: _ = try XMPPRequest.decode(frame.body, password: nil)
        default: break
        }
      }
    } catch {
      switch error {
      case .limitExceeded(let field, _): throw .unsendable("the \(field) is too long")
      case .invalidValue(let field): throw .unsendable("the \(field) isn't one")
      default: throw .unsendable("it makes no sense")
      }
    }
  }
}
