import Testing

@testable import SecretVault

@Suite("Names that are near to what was typed") struct NearNamesTests {
  @Test(
    "a slip is a letter too few, too many, wrong or in the wrong place",
    arguments: [
      ("treshold", "threshold", 1), ("thresholld", "threshold", 1), ("threshald", "threshold", 1),
      ("htreshold", "threshold", 1), ("kitten", "sitting", 3), ("", "abc", 3), ("same", "same", 0),
    ])
  func distance(one: String, other: String, expected: Int) {
    #expect(NearNames.distance(Array(one.unicodeScalars), Array(other.unicodeScalars)) == expected)
    #expect(NearNames.distance(Array(other.unicodeScalars), Array(one.unicodeScalars)) == expected)
  }

  @Test("the nearest comes first, whatever the case, and what is far away not at all")
  func near() {
    let names = ["Caroline", "Bob", "Bobby", "Carol"]
    #expect(NearNames.near("carl", among: names) == ["Carol"])
    #expect(NearNames.near("boby", among: names) == ["Bob", "Bobby"])
    #expect(NearNames.near("zebra", among: names).isEmpty)
    #expect(NearNames.question("carl", among: names) == "did you mean 'Carol'?")
    #expect(NearNames.question("", among: names) == nil)
  }

  @Test("letters beyond ASCII are letters, and a name of any length is compared in no time")
  func anyText() {
    #expect(NearNames.near("zoe", among: ["Zoë"]) == ["Zoë"])
    let long = String(repeating: "a", count: 1_000_000)
    #expect(NearNames.near(long, among: [long + "b"]).count == 1)
  }
}
