//! The scenes we ship, as the TOML files of `builtin/`: read them, copy them, change them.

/// One built-in scene.
struct Builtin {
    name: &'static str,
    about: &'static str,
    text: &'static str,
}

macro_rules! builtins {
    ($($name:literal: $about:literal),* $(,)?) => {
        &[$(Builtin {
            name: $name,
            about: $about,
            text: include_str!(concat!("../builtin/", $name, ".toml")),
        }),*]
    };
}

const ALL: &[Builtin] = builtins! {
    "head-on": "two spheres meet on the border of two regions",
    "group-ab": "Fig. 3.1 A, B: a box and a ball meet across a border",
    "group-cd": "Fig. 3.1 C, D: a ball on the border draws another to its server",
    "group-efg": "Fig. 3.1 E, F, G: a chain that still touches its own region stays",
    "group-hij": "Fig. 3.1 H, I, J: a chain that left its region migrates whole",
    "group-klm": "Fig. 3.1 K, L, M: one body within the auras of two servers",
    "group-no": "Fig. 3.1 N, O: two servers' bodies meet in a third one's region",
    "islands": "clusters that glide over borders and corners and must not be left behind",
    "stacks": "towers, a wall and a pyramid that rest on borders and must stay standing",
    "wall-breaker": "a heavy, fast ball goes through a brick wall that stands on a border",
    "ragdolls": "jointed figures thrown across a corner",
    "orbit": "balls circle a four-way corner for two minutes",
    "playground": "80 mixed bodies hop about a court on a four-way corner for 50 minutes; what `demo` shows",
    "corner-stacks": "Fig. 4.13: two large stacks at a four-way corner under a rain of bodies",
    "corner-building": "Fig. 4.14: a static building on a four-way corner, bodies fall on it",
    "columns": "the column experiment, scaled down: bodies injected at borders and centres",
    "avalanche": "2,000 mixed bodies roll down a slope through four regions",
    "shaker": "250 mixed bodies in a closed box that never come to rest; for the state stream",
    "pile": "5,000 boxes pile up in a pit; for benchmarks",
};

/// The names, from small scenes to large ones.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|b| b.name)
}

/// A scene's TOML text.
pub fn text(name: &str) -> Option<&'static str> {
    find(name).map(|b| b.text)
}

/// A scene in one line.
pub fn about(name: &str) -> Option<&'static str> {
    find(name).map(|b| b.about)
}

fn find(name: &str) -> Option<&'static Builtin> {
    ALL.iter().find(|b| b.name == name)
}
