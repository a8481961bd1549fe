import ArgumentParser
import ShareServer

struct LimitOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Room for the shares of one group, in MiB.", valueName: "mib"))
  var groupSpace = ServerLimits().groupBytes >> 20

  @Option(help: ArgumentHelp("Shares of one group.", valueName: "number"))
  var groupShares = ServerLimits().groupShares

  @Option(help: ArgumentHelp("Users of one group.", valueName: "number"))
  var groupUsers = ServerLimits().groupUsers

  @Option(help: ArgumentHelp("Groups.", valueName: "number"))
  var groups = ServerLimits().groups

  @Option(help: ArgumentHelp("Room for all shares, in MiB.", valueName: "mib"))
  var space = ServerLimits().totalBytes >> 20

  @Option(help: ArgumentHelp("What to leave free on the disk, in MiB.", valueName: "mib"))
  var keepFree = ServerLimits().freeBytes >> 20

  @Option(help: ArgumentHelp("Requests a second with one key.", valueName: "number"))
  var keyRate = ServerLimits().keyRate

  @Option(help: ArgumentHelp("Requests a second from one address.", valueName: "number"))
  var addressRate = ServerLimits().addressRate

  @Option(help: ArgumentHelp("Groups that one address may make in a day.", valueName: "number"))
  var groupsPerDay = ServerLimits().groupsPerDay

  @Option(help: ArgumentHelp("Connections at a time.", valueName: "number"))
  var connections = ServerLimits().connections

  @Option(help: ArgumentHelp("Connections at a time from one address.", valueName: "number"))
  var addressConnections = ServerLimits().connectionsPerAddress

  @Option(help: ArgumentHelp("Memory for bodies under way, in MiB.", valueName: "mib"))
  var bodyMemory = ServerLimits().bodyMemory >> 20

  func validate() throws {
    let numbers = [
      groupSpace, groupShares, groupUsers, groups, space, keepFree, Int64(keyRate), Int64(addressRate),
      Int64(groupsPerDay),
    ]
    // Far beyond any machine, and small enough to be counted in bytes.
    guard numbers.allSatisfy({ (0...1 << 32).contains($0) }), (1...1 << 20).contains(connections),
      (1...1 << 20).contains(addressConnections), (8...1 << 20).contains(bodyMemory)
    else { throw ValidationError("a limit is out of range") }
  }

  var limits: ServerLimits {
    var limits = ServerLimits()
    limits.groupBytes = groupSpace << 20
    limits.groupShares = groupShares
    limits.groupUsers = groupUsers
    limits.groups = groups
    limits.totalBytes = space << 20
    limits.freeBytes = keepFree << 20
    limits.keyRate = keyRate
    limits.addressRate = addressRate
    limits.groupsPerDay = groupsPerDay
    limits.connections = connections
    limits.connectionsPerAddress = addressConnections
    limits.bodyMemory = bodyMemory << 20
    return limits
  }
}
