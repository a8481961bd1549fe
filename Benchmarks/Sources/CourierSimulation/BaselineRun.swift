/// Epidemic routing (Vahdat and Becker, 2000) and sending directly, over the same contacts, without limits but the
/// radio's.
///
/// Epidemic: whoever meets gives everything that the other hasn't had; receipts spread in the same way and end it.
/// Direct: the sender meets the recipient. In both a server takes what it is given, and gives it to its recipient.
struct BaselineRun {
  private let trace: Trace
  private let messages: [Message]
  private let run: Run
  private let drops: [Bool]
  private let words: Int
  private var has: [[UInt64]]
  private var had: [[UInt64]]
  private var known: [[UInt64]]
  private var mine: [[UInt64]]
  private var outcome: Outcome
  private var expired: [UInt64]

  init(_ trace: Trace, _ messages: [Message], _ run: Run, drops: [Bool]) {
    (self.trace, self.messages, self.run, self.drops) = (trace, messages, run, drops)
    words = (messages.count + 63) / 64
    let none = [UInt64](repeating: 0, count: words)
    // One more than people: the server.
    has = Array(repeating: none, count: trace.people + 1)
    (had, known, mine, expired) = (has, has, has, none)
    for (number, message) in messages.enumerated() { mine[message.recipient][number / 64] |= 1 << UInt64(number % 64) }
    outcome = Outcome(delays: Array(repeating: nil, count: messages.count))
  }

  mutating func result() -> Outcome {
    var message = 0
    var visit = 0
    var oldest = 0
    let byExpiry = messages.indices.sorted { messages[$0].expires < messages[$1].expires }
    for contact in trace.contacts {
      while message < messages.count, messages[message].at <= contact.at {
        let sender = messages[message].sender
        has[sender][message / 64] |= 1 << UInt64(message % 64)
        had[sender][message / 64] |= 1 << UInt64(message % 64)
        message += 1
      }
      while oldest < byExpiry.count, messages[byExpiry[oldest]].expires <= contact.at {
        expired[byExpiry[oldest] / 64] |= 1 << UInt64(byExpiry[oldest] % 64)
        oldest += 1
      }
      while visit < trace.visits.count, trace.visits[visit].at <= contact.at {
        if run.hasNetwork { serve(Int(trace.visits[visit].device), trace.visits[visit].at) }
        visit += 1
      }
      meet(contact)
    }
    for (number, message) in messages.enumerated()
    where known[message.sender][number / 64] >> UInt64(number % 64) & 1 == 1 { outcome.confirmed += 1 }
    return outcome
  }

  private mutating func meet(_ contact: Contact) {
    let (one, other) = (Int(contact.one), Int(contact.other))
    tell(one, other)
    var left = Int(contact.length) * run.rate
    give(one, other, contact.at, &left)
    give(other, one, contact.at, &left)
    tell(one, other)
  }

  private mutating func serve(_ device: Int, _ now: Int32) {
    let server = trace.people
    tell(device, server)
    for word in 0..<words {
      has[server][word] |= has[device][word]
      let fetched = has[server][word] & mine[device][word] & ~had[device][word] & ~expired[word]
      if fetched != 0 { arrive(fetched, word, device, now) }
    }
    tell(device, server)
  }

  /// Receipts, in both directions.
  private mutating func tell(_ one: Int, _ other: Int) {
    for word in 0..<words {
      let (left, right) = (known[one][word], known[other][word])
      if left != right {
        known[one][word] = left | right
        known[other][word] = left | right
        outcome.spoken += 128 * (left ^ right).nonzeroBitCount
      }
      has[one][word] &= ~known[one][word]
      has[other][word] &= ~known[other][word]
    }
  }

  private mutating func give(_ giver: Int, _ taker: Int, _ now: Int32, _ left: inout Int) {
    for pass in 0..<2 {
      for word in 0..<words {
        var wanted = has[giver][word] & ~had[taker][word] & ~expired[word] & ~known[giver][word]
        if pass == 0 || run.method == .direct {
          wanted &= mine[taker][word]
        } else if drops[taker] {
          continue
        }
        while wanted != 0 {
          let bit = UInt64(wanted.trailingZeroBitCount)
          wanted &= wanted - 1
          let size = messages[word * 64 + Int(bit)].size
          guard size <= left else { continue }
          left -= size
          outcome.bytes += size
          outcome.copies += 1
          if mine[taker][word] >> bit & 1 == 1 {
            arrive(1 << bit, word, taker, now)
          } else {
            had[taker][word] |= 1 << bit
            has[taker][word] |= 1 << bit
          }
        }
      }
    }
  }

  private mutating func arrive(_ bits: UInt64, _ word: Int, _ device: Int, _ now: Int32) {
    var bits = bits
    had[device][word] |= bits
    known[device][word] |= bits
    while bits != 0 {
      let number = word * 64 + bits.trailingZeroBitCount
      bits &= bits - 1
      if outcome.delays[number] != nil { outcome.twice += 1 }
      outcome.delays[number] = now - messages[number].at
    }
  }
}
