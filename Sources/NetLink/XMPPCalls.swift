import WireCodec
import XMPPRequests

final class XMPPCall: NetProcess.Receiver {
  let pending = PendingResult<XMPPReply, XMPPError>()
  private let limit: Int

  init(_ request: XMPPRequest) {
    limit =
      switch request {
      case .archive: NetFrame.Kind.reply.limit
      case .roster, .features, .putAside: 8 << 20
      default: 1
      }
  }

  func limit(of kind: NetFrame.Kind) -> Int? {
    switch kind {
    case .reply: limit
    case .refusal: kind.limit
    default: nil
    }
  }

  func take(_ frame: NetFrame) -> NetProcess.Verdict {
    do throws(WireError) {
      pending.finish(
        frame.kind == .refusal
          ? .failure(try XMPPError(encoded: frame.body)) : .success(try XMPPReply(encoded: frame.body)))
      return .last
    } catch { return .senseless }
  }

  func end(_ fault: NetFault) { pending.finish(.failure(XMPPError(fault))) }
}

/// The question how much has moved.
final class ProgressCall: NetProcess.Receiver {
  let pending = PendingResult<UInt64, Never>()

  func limit(of kind: NetFrame.Kind) -> Int? { kind == .moved ? kind.limit : nil }

  func take(_ frame: NetFrame) -> NetProcess.Verdict {
    do throws(WireError) {
      pending.finish(.success(try NetFrame.number(frame.body)))
      return .last
    } catch { return .senseless }
  }

  func end(_ fault: NetFault) { pending.finish(.success(0)) }
}
