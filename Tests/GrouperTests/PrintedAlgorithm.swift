@testable import Grouper

/// Algorithm 1 of the thesis, line by line as it is printed, for one receiver: to show what is wrong with it.
///
/// `seq..<` of the printed pair (minimum, maximum) is read as the thesis' example reads it: both ends are asked for.
struct PrintedAlgorithm {
  struct Message: Equatable {
    var type: MessageType
    var sender: Int
    var sequence: UInt64
    var content: UInt64 = 0
  }

  /// A resend message with the minimum and the maximum sequence number.
  struct Resend: Equatable {
    var minimum: UInt64
    var maximum: UInt64
  }

  private(set) var updates: [UInt64] = []
  private var history: [Message] = []

  /// What is sent when `message` comes.
  mutating func onMessageReceived(_ message: Message) -> [Resend] {
    // 2-5: the message is compared by its attributes, control messages have nothing that tells them apart.
    let historyMessages = history.filter { $0.sender == message.sender }
    if historyMessages.contains(message) { return [] }
    // 6-7
    let last = historyMessages.last?.sequence ?? 0
    history.append(message)
    var sent: [Resend] = []
    // 8-13
    if message.sequence != 0, last + 1 != message.sequence {
      sent.append(Resend(minimum: last + 1, maximum: message.sequence))
    }
    // 14-32
    switch message.type {
    case .update: updates.append(message.sequence)
    case .confirm: sent.append(Resend(minimum: last + 1, maximum: message.content))
    default: break
    }
    return sent
  }
}
