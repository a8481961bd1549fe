import Grouper
import Testing

@testable import VaultGroups

@Suite struct GroupPluginTests {
  @Test func `an object that isn't marshalled is refused by name`() {
    #expect(throws: GroupError.plugin("Int is no object of a vault's group")) { try GroupPlugin("", []).marshal(1) }
  }
}
