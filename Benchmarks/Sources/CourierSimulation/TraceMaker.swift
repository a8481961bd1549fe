/// Moves everybody step by step and writes down who is near whom.
struct TraceMaker {
  private let world: WorldParameters
  private var legs: [[Leg]]
  private let subscribed: [Bool]
  private let towerTimes: [[Double]]

  init(_ world: WorldParameters) {
    self.world = world
    var chance = Chance(world.seed, 1)
    let homes = (0..<max(1, Int(Double(world.people) / world.peoplePerHome))).map { _ in
      Mobility.anywhere(world, &chance)
    }
    let works = (0..<max(1, Int(Double(world.people) / world.peoplePerWorkplace))).map { _ in
      Mobility.anywhere(world, &chance)
    }
    let places = (0..<world.places).map { _ in Mobility.anywhere(world, &chance) }
    legs = (0..<world.people).map { _ in
      let home = Mobility.near(homes[chance.below(homes.count)], 5, &chance)
      let work = works[chance.below(works.count)]
      return Mobility.legs(world, &chance, home: home, work: work, places: places)
    }
    subscribed = (0..<world.people).map { _ in chance.unit() < world.subscribed }
    // When each tower changes, from down at the start.
    towerTimes = (0..<(world.towers * world.towers)).map { _ in
      var times: [Double] = []
      var now = 0.0
      var isUp = false
      while now < Double(world.days) * 86_400 {
        // Uniform up to twice the mean.
        now += chance.between(0, 2 * (isUp ? world.towerUp : world.towerDown))
        times.append(now)
        isUp.toggle()
      }
      return times
    }
  }

  func make() -> Trace {
    let count = world.people
    var trace = Trace(people: count, seconds: world.days * 86_400)
    var leg = [Int](repeating: 0, count: count)
    var towerState = [Int](repeating: 0, count: towerTimes.count)
    var positions = [Point](repeating: Point(x: 0, y: 0), count: count)
    let cells = Int(world.edge / world.range) + 3
    var heads = [Int32](repeating: -1, count: cells * cells)
    var next = [Int32](repeating: -1, count: count)
    // By pair: the step in which they were last near, and their last contact in the trace.
    var last = [Int32](repeating: -2, count: count * count)
    var event = [Int32](repeating: -1, count: count * count)
    let square = world.range * world.range

    for step in 0..<(trace.seconds / world.step) {
      let now = Double(step * world.step)
      var cell = [Int](repeating: 0, count: count)
      for person in 0..<count {
        while leg[person] + 1 < legs[person].count, legs[person][leg[person] + 1].departs <= now { leg[person] += 1 }
        positions[person] = legs[person][leg[person]].position(now)
        let column = min(max(Int(positions[person].x / world.range) + 1, 1), cells - 2)
        let row = min(max(Int(positions[person].y / world.range) + 1, 1), cells - 2)
        cell[person] = row * cells + column
      }
      for person in 0..<count {
        for row in -1...1 {
          for column in -1...1 {
            var other = Int(heads[cell[person] + row * cells + column])
            while other >= 0 {
              let (dx, dy) = (positions[person].x - positions[other].x, positions[person].y - positions[other].y)
              if dx * dx + dy * dy <= square { near(other, person, step, &last, &event, &trace) }
              other = Int(next[other])
            }
          }
        }
        next[person] = heads[cell[person]]
        heads[cell[person]] = Int32(person)
      }
      for person in 0..<count { heads[cell[person]] = -1 }
      if step * world.step % 600 == 0 { visits(now, positions, &towerState, &trace) }
    }
    return trace
  }

  private func near(
    _ one: Int, _ other: Int, _ step: Int, _ last: inout [Int32], _ event: inout [Int32], _ trace: inout Trace
  ) {
    let pair = one * world.people + other
    let isNew = last[pair] < step - 1
    last[pair] = Int32(step)
    if !isNew {
      let index = Int(event[pair])
      trace.contacts[index].length += Int32(world.step)
      if trace.contacts[index].length < world.again { return }
    } else {
      trace.meetings += 1
    }
    event[pair] = Int32(trace.contacts.count)
    trace.contacts.append(
      Contact(
        at: Int32(step * world.step), one: UInt16(one), other: UInt16(other), length: Int32(isNew ? world.step / 2 : 0),
        isNew: isNew))
  }

  private func visits(_ now: Double, _ positions: [Point], _ state: inout [Int], _ trace: inout Trace) {
    for tower in state.indices {
      while state[tower] < towerTimes[tower].count, towerTimes[tower][state[tower]] <= now { state[tower] += 1 }
    }
    let district = world.edge / Double(world.towers)
    for person in 0..<world.people where subscribed[person] {
      let column = min(max(Int(positions[person].x / district), 0), world.towers - 1)
      let row = min(max(Int(positions[person].y / district), 0), world.towers - 1)
      if state[row * world.towers + column] % 2 == 1 {
        trace.visits.append(Visit(at: Int32(now), device: UInt16(person)))
      }
    }
  }
}
