import Testing

@testable import Courier

@Suite struct CarrierRecordsTests {
  /// Four carriers, of whom the first drops everything; each of the others brings every third.
  private func records(_ parcels: Int) throws -> CarrierRecords {
    var records = CarrierRecords()
    for number in 0..<parcels {
      for carrier in 0..<4 {
        records.settle(
          try device(carrier), arrived: carrier == 1 + number % 3, othersArrived: true, at: start + Int64(number) * hour
        )
      }
    }
    return records
  }

  @Test func `a carrier that never delivers is shunned`() throws {
    let records = try records(30)
    #expect(records.isShunned(try device(0), at: start + 30 * hour))
  }

  @Test func `carriers that deliver their part aren't shunned`() throws {
    let records = try records(30)
    for carrier in 1...3 { #expect(!records.isShunned(try device(carrier), at: start + 30 * hour)) }
  }

  @Test func `of whom nothing is known is believed`() throws {
    #expect(try records(30).belief(in: device(9), at: start) == 1)
    #expect(!(try records(30).isShunned(device(9), at: start)))
  }

  @Test func `who delivers little is believed less`() throws {
    let records = try records(6)
    #expect(records.belief(in: try device(0), at: start) < records.belief(in: try device(1), at: start))
  }

  @Test func `nobody is shunned for ever`() throws {
    let records = try records(12)
    #expect(records.isShunned(try device(0), at: start + day))
    #expect(!records.isShunned(try device(0), at: start + 300 * day))
  }

  @Test func `where nothing ever arrives, who hasn't been tried is preferred`() throws {
    var records = CarrierRecords()
    for number in 0..<40 {
      records.settle(try device(number % 2), arrived: false, othersArrived: false, at: start)
    }
    #expect(records.isShunned(try device(0), at: start))
    #expect(!records.isShunned(try device(2), at: start))
  }

  @Test func `records are bounded`() throws {
    var records = CarrierRecords()
    for number in 0..<5000 {
      records.settle(try device(number), arrived: false, othersArrived: false, at: start)
    }
    #expect(records.records.count <= CarrierRecords.limit)
  }
}

@Suite struct ReceiptBookTests {
  @Test func `a receipt is learned once`() throws {
    var book = ReceiptBook()
    #expect(book.learn(try receipt(1), from: try device(1), at: start))
    #expect(!book.learn(try receipt(1), from: try device(2), at: start))
  }

  @Test func `a receipt is forgotten when its parcel has expired`() throws {
    var book = ReceiptBook()
    _ = book.learn(try receipt(1), from: try device(1), at: start)
    book.removeExpired(at: start + day - 1)
    #expect(book.count == 1)
    book.removeExpired(at: start + day)
    #expect(book.count == 0)
  }

  @Test func `a receipt that would last too long isn't taken`() throws {
    var book = ReceiptBook()
    #expect(!book.learn(try receipt(1, expiresAt: start + 32 * day), from: try device(1), at: start))
    #expect(!book.learn(try receipt(1, expiresAt: Int64.max), from: try device(1), at: start))
  }

  @Test func `a flood of receipts pushes out its own`() throws {
    var book = ReceiptBook()
    for number in 0..<50 { _ = book.learn(try receipt(number), from: try device(1), at: start) }
    for number in 100..<20_000 { _ = book.learn(try receipt(number), from: try device(2), at: start) }
    #expect(book.count <= ReceiptBook.limit)
    for number in 0..<50 { #expect(book[try parcel(number)] != nil) }
  }

  @Test func `what the other carries is told first, and what it told isn't told back`() throws {
    var book = ReceiptBook()
    for number in 0..<100 { _ = book.learn(try receipt(number), from: try device(1), at: start) }
    let told = book.toTell(try device(2), [try parcel(3)], since: .min)
    #expect(told.first?.id == (try parcel(3)))
    #expect(told.count == 1 + ReceiptBook.newestLimit)
    #expect(Set(told.map(\.id)).count == told.count)
    #expect(book.toTell(try device(1), [], since: .min).isEmpty)
  }

  @Test func `nobody drowns out what others have told`() throws {
    var book = ReceiptBook()
    for number in 0..<3 { _ = book.learn(try receipt(number), from: try device(1), at: start) }
    for number in 100..<400 { _ = book.learn(try receipt(number), from: try device(2), at: start + 1) }
    let told = Set(book.toTell(try device(3), [], since: .min).map(\.id))
    for number in 0..<3 { #expect(told.contains(try parcel(number))) }
    #expect(told.count == ReceiptBook.newestLimit)
  }

  @Test func `what a device has confirmed itself is told first, and leaves room for others`() throws {
    var book = ReceiptBook()
    book.own = try device(9)
    for number in 0..<100 { _ = book.learn(try receipt(number), from: try device(9), at: start) }
    for number in 100..<400 { _ = book.learn(try receipt(number), from: try device(2), at: start + 1) }
    let told = book.toTell(try device(3), [], since: .min).map(\.id)
    #expect(told.count == ReceiptBook.newestLimit)
    #expect(try told.prefix(ReceiptBook.ownLimit) == (0..<ReceiptBook.ownLimit).map { try parcel(99 - $0) }[...])
    #expect(try told.contains(parcel(399)))
  }

  @Test func `a flood doesn't push out what a device has confirmed itself, and keeps nothing of that away`() throws {
    var book = ReceiptBook()
    book.own = try device(9)
    for number in 0..<2000 { _ = book.learn(try receipt(number), from: try device(9), at: start) }
    for number in 10_000..<30_000 { _ = book.learn(try receipt(number), from: try device(number % 40 + 10), at: start) }
    for number in 0..<2000 { #expect(book[try parcel(number)] != nil) }
    #expect(book.learn(try receipt(2000), from: try device(9), at: start))
    #expect(book.count <= ReceiptBook.limit)
  }

  @Test func `what a device has confirmed itself makes room for others beyond half of the book`() throws {
    var book = ReceiptBook()
    book.own = try device(9)
    for number in 0..<5000 { _ = book.learn(try receipt(number), from: try device(9), at: start) }
    #expect(book.count <= ReceiptBook.limit && book.count > ReceiptBook.limit / 2)
    while book.count < ReceiptBook.limit {
      _ = book.learn(try receipt(10_000 + book.count), from: try device(9), at: start)
    }
    #expect(book.learn(try receipt(20_000), from: try device(1), at: start))
  }
}
