/// 1,024 English words to say aloud: of codes, and of group checks. No two sound the same, begin with the same four letters
/// or differ in one letter only.
///
/// Words are handled as numbers: their letters in lower case in the upper bytes, zeros behind them.
package enum GatheringWords {
  package static let count = 1024
  /// Bits that a word stands for.
  static let bitCount = 10
  static let letterCounts = 3...7

  /// All words in alphabetic order.
  static let packed: [UInt64] = text.split(whereSeparator: \.isWhitespace).map { packed(Array($0.utf8)) }

  /// The word of a number below ``count``; greater ones begin anew.
  static func word(_ index: Int) -> UInt64 { packed[index & (count - 1)] }

  /// The letters of a word.
  static func letters(_ word: UInt64) -> String {
    let bytes = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
    return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }

  /// At most eight letters as a number.
  static func packed(_ letters: [UInt8]) -> UInt64 {
    var word: UInt64 = 0
    for place in 0..<8 { word = word << 8 | UInt64(place < letters.count ? letters[place] : 0) }
    return word
  }

  /// What `letters`, lower-case ones in a number that isn't a secret, stand for: the word, or the only one that begins so.
  ///
  /// Looks at every word in the same way, whichever it is. Only whether there is one shows.
  static func find(_ letters: [UInt8]) throws(GatheringCodeError) -> UInt64 {
    guard letterCounts.contains(letters.count) else { throw .unknownWord }
    let entered = packed(letters)
    let mask = UInt64.max << UInt64(8 * (8 - letters.count))
    var exact: UInt64 = 0
    var beginning: UInt64 = 0
    var matches: UInt64 = 0
    for word in packed {
      let begins = isZero((word & mask) ^ entered)
      exact |= word & (0 &- isZero(word ^ entered))
      beginning |= word & (0 &- begins)
      matches &+= begins
    }
    if exact != 0 { return exact }
    guard matches != 0 else { throw .unknownWord }
    guard matches == 1 else { throw .severalWords }
    return beginning
  }

  /// 1 for zero, else 0.
  private static func isZero(_ value: UInt64) -> UInt64 { ((value | (0 &- value)) >> 63) ^ 1 }

  private static let text = """
    abbey acorn acrobat actor admiral adobe advice aerial agile ahead airport alarm album alcove alert algebra alley
    almond alpine amber anchor angle antenna anvil apple apricot apron aquatic arcade arctic arena arrow artist
    ashtray asphalt aspirin atlas attic audio autumn avenue avocado award azure baboon backup bacon badge bakery
    balcony ballet bamboo banana bandage banjo banner barber barley barrel basil basket battery beagle beaver
    bedroom beetle belfry below bench bicycle bingo biplane birch biscuit black blade blanket blender blink blossom
    bobcat bobsled bonfire bonnet bonus border botany bottle bounce bowler boxer bracket brass brave breeze brick
    bridge brief bright bronze broom brother brown brush bubble bucket buddy budget buffalo bugle builder bumper
    butter cabbage cabin cactus cadet cafe camel campus canal candle canoe canyon captain caramel carbon cargo
    carpet carry cartoon cashew casino castle catalog caution cavern cedar celery central ceramic certain chair
    chamber chapter charm cheddar cheek chemist cherry chess chicken chief child chimney china chisel choice chowder
    chrome chuckle cider cinema circle citizen citrus civic classic clean clerk clever cliff climate clinic clock
    closet cloth cloud clown cluster coach coast cobalt cobra cobweb coconut coffee comet comic compass concert
    condor cookie copper copy corner cotton cougar counter courage cousin cowboy coyote cradle crane crater crawl
    crayon crazy cream cricket crimson crisp crocus cross crowd cruiser crumb crystal cuckoo cupcake curious curve
    cushion custard cyclone daisy dance danger darling dawdle decade delta detail develop device diagram diamond
    diary digital dinner diploma direct disco dish doctor dolphin domain domino donkey doodle double dowel dozen
    dragon drama drawer dress drift drill drink driver drizzle drum duchess dune durable early earring easel eastern
    echo editor elastic elbow elder elect elegant elite emblem emerald emperor empty enact enamel encore enemy
    energy engine enjoy enter equator event eyebrow fable fabric factory faith falcon family famous fancy farmer
    fashion father feature fellow fencing fender fern ferret fiber fiddle field figure film filter finger fitness
    flag flannel flash fleece flight flint florist fluffy flute foggy folder forest fork fortune fossil frame
    freedom fresco friend frigate frog frost frozen fruit fudge funnel future fuzzy gadget galaxy gallop garage
    garden garlic garnet gazebo gecko general genius gentle genuine gerbil giant giraffe glacier gladly glass glider
    glitter global glossy glove glue goblet goggles golden gondola goose grace grain grammar granite gravel green
    griddle grocery ground guava guitar gumdrop habitat hallway hamlet hammer hamster happy harbor harmony harp
    harvest hatchet haven hazel headset healthy heather hedge helmet helpful herald herring hexagon hickory hiking
    hilltop hinge history hobby hockey holiday hollow honest hoodie hopeful horizon hornet hotel hover hubcap
    hundred hunter husky hyena iceberg icicle iguana image impact import inch income index indigo inkwell input
    insect inside intern invent invite iris iron island item ivory jacket jaguar jargon jasmine javelin jazz jelly
    jersey jester jetty jigsaw jingle jogger journal joyful jubilee juggle juice jumbo junior justice karate kayak
    keeper kennel ketchup kettle keyhole kidney kimono kingdom kiosk kitchen kitten kiwi koala label lacquer ladder
    ladle lagoon lake lamp lantern laptop lasso laundry lawyer layout league lecture ledger legend lemon leopard
    letter liberty library lilac limber limit linen liquid listen lizard llama lobster local locket lodge lofty
    logic longbow lotus lounge lucky luggage lunar lunch luxury lyric machine magenta magic magnet majesty mammoth
    manager mango mansion manual maple marble margin marina market maroon marsh mascot mason master matador match
    matrix mayor meadow measure melon member memory mercury merit mermaid meteor method metro migrate million
    miracle mirror mission mixture mobile model module molten moment monsoon month mosaic mother motion movie muffin
    mumble mural museum music mystery napkin nation nature navy nearby nebula nectar needle neon nephew nest network
    neutral newborn nibble nickel noble nomad normal north notable notch novel nozzle nugget nutmeg nylon oasis
    oatmeal oboe observe ocean octopus odyssey offer office olive omega omelet onion onyx opal open opera opinion
    optical oracle orange orbit orchid oregano organ orient origami ostrich otter outdoor owner oxygen oyster
    package paddle padlock pagoda painter palace pancake panda panel panther paper paprika parade parcel parent
    parking parrot parsley partner pasta pattern peanut pebble pecan pelican pencil penguin pension people pepper
    person petunia phantom phoenix photo piano pickle picnic picture pigeon pigment pilgrim pillow pilot pinball
    pioneer pirate pitcher pixel pizza planet platter playful pledge plenty plumber podium poem polar police polka
    pollen pony popcorn porch portion poster potato pottery powder prairie pretzel primary prism private problem
    proof protein public pudding pulley pulse pumpkin pupil puppet purple puzzle pyramid python quarry queen quest
    quick quilt quiz rabbit radar radish raffle raft rainbow raisin rally ramble ranch random rapid ratio ravioli
    razor realm recipe reflect refuge region relish repair report reptile reunion ribbon ripple roadway robin robot
    romance rooster rotate routine royal rubber ruby rudder runway safari saffron sailor salad salmon salute sample
    sandal sardine satchel satin sausage savanna scallop scarf scatter scenic school science scooter scout scrap
    screen seafood season second section sedan seesaw segment senator sequel sesame shadow shampoo shark shelf
    sheriff shield shimmer shovel shrimp shuttle sierra signal silence silicon silver sister sizzle skate sketch
    skillet skyline slipper slogan smile smooth snack sneaker snorkel snow soap soccer society sofa soldier solid
    sonata sonic soprano sorbet south soybean space spaniel sparrow special spider spinach spiral splash sponge
    spoon spring sprout square squid stadium stamp station steam stencil stereo sticker stone studio stylish success
    sugar summer sunset superb surface survey swallow sweater swift swing syrup system tackle tadpole talent tanker
    target tartan taxi teacher teapot temple tennis terrace texture thimble thistle thorn thread thumb thunder tiara
    ticket tiger tinsel tissue toaster today tomato topaz topic tornado total toucan tourist toward tower tractor
    trader traffic trapeze tribute triple trolley trumpet trust tulip turkey turnip turtle tuxedo tweed twelve
    twenty tycoon ultra uncle unicorn uniform update upgrade uphill urban useful usher vacant vacuum vanilla variety
    varnish vault vehicle velvet vendor version vessel veteran victory video village vinegar vintage violin vista
    vitamin vivid voice volcano volume voyage vulture wagon wallaby walnut walrus waltz warbler warm warrior washer
    water wealth wedding weekend welcome whisker wigwam winter wisdom wolf wombat wonder yacht yard yeast yoga
    yogurt young zebra zenith zephyr zero zesty zigzag zinc zipper zodiac zone
    """
}
