/// Numbers of one world, in metres and seconds.
struct WorldParameters {
  var people = 1000
  var days = 4
  /// Edge of the square in which they live.
  var edge = 5000.0
  var peoplePerHome = 2.5
  var peoplePerWorkplace = 17.0
  var places = 30
  var range = 30.0
  var step = 20
  /// While a contact lasts, what is new is exchanged this often.
  var again = 3600
  /// Towers stand in a square grid of so many by so many.
  var towers = 5
  var towerUp = 1800.0
  var towerDown = 12 * 3600.0
  /// The part of the people whose device can use the network at all.
  var subscribed = 0.3
  var seed: UInt64 = 1
}

struct Point {
  var x: Double
  var y: Double
}

/// Two devices within range of each other.
struct Contact {
  let at: Int32
  let one: UInt16
  let other: UInt16
  /// Seconds until they part or exchange again.
  var length: Int32
  let isNew: Bool
}

/// A device that has a network.
struct Visit {
  let at: Int32
  let device: UInt16
}

/// Who was near whom, and who had a network, and when: the same for all ways of routing.
struct Trace: Sendable {
  let people: Int
  let seconds: Int
  var contacts: [Contact] = []
  var visits: [Visit] = []
  var meetings = 0
}

extension Contact: Sendable {}
extension Visit: Sendable {}

/// Where a person is from one time on, and on the way to where.
struct Leg {
  let departs: Double
  let arrives: Double
  let from: Point
  let to: Point

  func position(_ now: Double) -> Point {
    guard now < arrives else { return to }
    guard now > departs else { return from }
    let part = (now - departs) / (arrives - departs)
    return Point(x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part)
  }
}

/// Random waypoint (Johnson and Maltz, 1996) with homes and workplaces: most waypoints are where a person goes every
/// day.
enum Mobility {
  /// A person's ways through all days: to work and back, with errands to anywhere and evenings in a place that is
  /// shared.
  static func legs(_ world: WorldParameters, _ chance: inout Chance, home: Point, work: Point, places: [Point]) -> [Leg]
  {
    var legs: [Leg] = []
    var here = home
    var now = 0.0
    func go(_ to: Point, _ earliest: Double, _ chance: inout Chance) {
      let departs = max(now, earliest)
      // Between a slow walk and a bicycle.
      let speed = chance.between(1, 6)
      let length = ((to.x - here.x) * (to.x - here.x) + (to.y - here.y) * (to.y - here.y)).squareRoot()
      legs.append(Leg(departs: departs, arrives: departs + length / speed, from: here, to: to))
      (here, now) = (to, departs + length / speed)
    }
    for day in 0..<world.days {
      let midnight = Double(day) * 86_400
      go(near(work, 10, &chance), midnight + chance.around(8, 0.8) * 3600, &chance)
      if chance.unit() < 0.3 {
        go(anywhere(world, &chance), midnight + chance.around(12, 0.5) * 3600, &chance)
        go(near(work, 10, &chance), now + chance.between(600, 2400), &chance)
      }
      go(here, midnight + chance.around(17, 0.8) * 3600, &chance)
      if chance.unit() < 0.4 {
        go(near(places[chance.below(places.count)], 15, &chance), now, &chance)
        go(near(home, 5, &chance), now + chance.between(1800, 7200), &chance)
      } else if chance.unit() < 0.3 {
        go(anywhere(world, &chance), now, &chance)
        go(near(home, 5, &chance), now + chance.between(300, 2400), &chance)
      } else {
        go(near(home, 5, &chance), now, &chance)
      }
    }
    return legs
  }

  static func anywhere(_ world: WorldParameters, _ chance: inout Chance) -> Point {
    Point(x: chance.between(0, world.edge), y: chance.between(0, world.edge))
  }

  static func near(_ point: Point, _ distance: Double, _ chance: inout Chance) -> Point {
    Point(x: point.x + chance.between(-distance, distance), y: point.y + chance.between(-distance, distance))
  }
}
