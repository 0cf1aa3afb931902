//! Every kind of mistake is found, at its line and key, with a sentence that helps; nothing else is said.

use scenes::{Scene, SceneErrors};

/// (what is wrong, the file, line, key, part of the message)
type Case = (
    &'static str,
    &'static str,
    usize,
    &'static str,
    &'static str,
);

#[rustfmt::skip]
const CASES: &[Case] = &[
    // The top level.
    ("not TOML", "name = \"x\"\nseconds = = 3\n", 2, "", "extra `=`"),
    ("unclosed text", "name = \"x\nseconds = 3\n", 1, "", "invalid basic string"),
    ("key twice", "seed = 1\nseed = 2\n", 2, "", "duplicate key"),
    ("unknown key", "secnods = 3\n", 1, "secnods", "did you mean `seconds`?"),
    ("unknown table", "\n[wrold]\nmin = [0, 0]\n", 2, "wrold", "did you mean `world`?"),
    ("text for number", "seconds = \"ten\"\n", 1, "seconds", "not a text"),
    ("zero seconds", "seconds = 0\n", 1, "seconds", "above 0 and at most 86400, not 0"),
    ("too many seconds", "seconds = 90000\n", 1, "seconds", "at most 86400"),
    ("huge number", "seconds = 1e300\n", 1, "seconds", "at most 86400, not 1e300"),
    ("not a number", "seconds = nan\n", 1, "seconds", "finite number"),
    ("negative seed", "seed = -1\n", 1, "seed", "whole number from 0"),
    ("fractional seed", "seed = 1.5\n", 1, "seed", "whole number"),
    ("number for name", "name = 3\n", 1, "name", "a text in quotes"),
    ("empty name", "name = \"\"\n", 1, "name", "1 to 1000 bytes"),
    ("short vector", "gravity = [0, -9.81]\n", 1, "gravity", "a list of 3 numbers, not of 2"),
    ("infinite gravity", "gravity = [0, -inf, 0]\n", 1, "gravity[1]", "finite number"),
    ("long step", "step_ms = 5000\n", 1, "step_ms", "at most 1000"),
    ("table for list", "[body]\nshape = { type = \"sphere\", radius = 1 }\n", 1, "body", "a list of tables, not a table"),
    ("list of numbers for list of tables", "body = [1]\n", 1, "body[0]", "must be a table"),
    // World and regions.
    ("empty world", "[world]\nmin = [0, 0]\nmax = [10, 0]\n", 3, "world.max", "above `min`"),
    ("half a world", "[world]\nmin = [0, 0]\n", 1, "world.max", "missing key `max`"),
    ("unknown layout", "[regions]\nlayout = \"gird\"\nservers = 4\n", 2, "regions.layout", "did you mean `grid`?"),
    ("no layout", "[regions]\nservers = 4\n", 1, "regions.layout", "missing key `layout`"),
    ("no servers", "[regions]\nlayout = \"grid\"\n", 1, "regions.servers", "missing key `servers`"),
    ("zero servers", "[regions]\nlayout = \"grid\"\nservers = 0\n", 3, "regions.servers", "from 1 to 1024"),
    ("too many servers", "[regions]\nlayout = \"grid\"\nservers = 1025\n", 3, "regions.servers", "from 1 to 1024, not 1025"),
    ("single with two", "[regions]\nlayout = \"single\"\nservers = 2\n", 3, "regions.servers", "1 region(s)"),
    ("thesis-3 with four", "[regions]\nlayout = \"thesis-3\"\nservers = 4\n", 3, "regions.servers", "3 region(s)"),
    ("no boxes", "[regions]\nlayout = \"boxes\"\nservers = 2\n", 1, "regions.boxes", "needs a list"),
    ("boxes for a grid", "[regions]\nlayout = \"grid\"\nservers = 2\nboxes = []\n", 4, "regions.boxes", "only for layout"),
    ("overlapping boxes", "[world]\nmin = [0, 0]\nmax = [9, 9]\n[regions]\nlayout = \"boxes\"\nboxes = [\n{ min = [0, 0], max = [6, 9] },\n{ min = [3, 0], max = [9, 9] }]\n", 8, "regions.boxes[1].min", "overlap"),
    ("a gap between boxes", "[world]\nmin = [0, 0]\nmax = [9, 9]\n[regions]\nlayout = \"boxes\"\nboxes = [{ min = [0, 0], max = [3, 9] }, { min = [6, 0], max = [9, 9] }]\n", 6, "regions.boxes", "no box covers"),
    ("box key", "[world]\nmin = [0, 0]\nmax = [9, 9]\n[regions]\nlayout = \"boxes\"\nboxes = [{ min = [0, 0], max = [9, 9], mx = 1 }]\n", 6, "regions.boxes[0].mx", "did you mean `max`?"),
    ("servers against boxes", "[world]\nmin = [0, 0]\nmax = [9, 9]\n[regions]\nlayout = \"boxes\"\nservers = 2\nboxes = [{ min = [0, 0], max = [9, 9] }]\n", 6, "regions.servers", "cannot be 2"),
    ("no box at all", "[regions]\nlayout = \"boxes\"\nboxes = []\n", 3, "regions.boxes", "0 regions"),
    ("zero tolerance", "[tolerances]\nspeed = 0\n", 2, "tolerances.speed", "above 0"),
    ("unknown tolerance", "[tolerances]\nlatency = 2\n", 2, "tolerances.latency", "did you mean `latency_ms`?"),
    // Shapes.
    ("no shape", "[[body]]\nposition = [0, 1, 0]\n", 1, "body[0].shape", "missing key `shape`"),
    ("no type", "[[body]]\nshape = { radius = 1 }\n", 2, "body[0].shape.type", "missing key `type`"),
    ("unknown type", "[[body]]\nshape = { type = \"ball\", radius = 1 }\n", 2, "body[0].shape.type", "unknown shape type `ball`"),
    ("no radius", "[[body]]\nshape = { type = \"sphere\" }\n", 2, "body[0].shape.radius", "missing key `radius`"),
    ("zero radius", "[[body]]\nshape = { type = \"sphere\", radius = 0 }\n", 2, "body[0].shape.radius", "above 0"),
    ("negative size", "[[body]]\nshape = { type = \"cuboid\", size = [1, -1, 1] }\n", 2, "body[0].shape.size", "above 0"),
    ("flat capsule", "[[body]]\nshape = { type = \"capsule\", radius = 1, height = 1 }\n", 2, "body[0].shape.height", "at least twice its radius"),
    ("foreign key", "[[body]]\nshape = { type = \"sphere\", radius = 1, height = 2 }\n", 2, "body[0].shape.height", "unknown key `height`"),
    ("moving plane", "[[body]]\nshape = { type = \"plane\" }\n", 2, "body[0].shape.type", "a plane cannot be a moving body"),
    ("flat hull", "[[body]]\nshape = { type = \"convex\", points = [[0,0,0],[1,0,0],[0,0,1],[1,0,1]] }\n", 2, "body[0].shape.points", "one plane"),
    ("three points", "[[body]]\nshape = { type = \"convex\", points = [[0,0,0],[1,0,0],[0,0,1]] }\n", 2, "body[0].shape.points", "3 given"),
    ("far point", "[[body]]\nshape = { type = \"convex\", points = [[0,0,0],[1,0,0],[0,0,1],[0,9e5,0]] }\n", 2, "body[0].shape.points", "finite"),
    ("no parts", "[[body]]\nshape = { type = \"compound\", parts = [] }\n", 2, "body[0].shape.parts", "0 given"),
    ("nested compound", "[[body]]\nshape = { type = \"compound\", parts = [\n{ shape = { type = \"compound\", parts = [] } }] }\n", 3, "body[0].shape.parts[0].shape.type", "cannot be part of a compound"),
    ("parts without `shape`", "[[body]]\nshape = { type = \"compound\", parts = [\n{ type = \"sphere\", radius = 1 },\n{ type = \"cuboid\", size = [1, 1, 1], position = [1, 0, 0] }] }\n", 3, "body[0].shape.parts[0]", "{ shape = { type = \"sphere\""),
    ("bad part", "[[body]]\nshape = { type = \"compound\", parts = [{ shape = { type = \"sphere\", radius = 1 }, postion = [0, 0, 0] }] }\n", 2, "body[0].shape.parts[0].postion", "did you mean `position`?"),
    ("mesh without anything", "[[static]]\nshape = { type = \"mesh\", vertices = [[0,0,0],[1,0,0],[0,0,1]] }\n", 2, "static[0].shape.triangles", "missing key"),
    ("bad triangle", "[[static]]\nshape = { type = \"mesh\", vertices = [[0,0,0],[1,0,0],[0,0,1]], triangles = [[0, 1]] }\n", 2, "static[0].shape.triangles[0]", "3 corners, not 2"),
    ("unknown vertex", "[[static]]\nshape = { type = \"mesh\", vertices = [[0,0,0],[1,0,0],[0,0,1]], triangles = [[0, 1, 3]] }\n", 2, "static[0].shape.triangles", "names vertex 3"),
    ("file without a directory", "[[static]]\nshape = { type = \"mesh\", file = \"rock.obj\" }\n", 2, "static[0].shape.file", "not read from a file"),
    // Bodies, grids, statics.
    ("unknown body key", "[[body]]\nshape = { type = \"sphere\", radius = 1 }\nvelocty = [1, 0, 0]\n", 3, "body[0].velocty", "did you mean `velocity`?"),
    ("static with velocity", "[[static]]\nshape = { type = \"plane\" }\nvelocity = [1, 0, 0]\n", 3, "static[0].velocity", "unknown key `velocity`"),
    ("far position", "[[body]]\nshape = { type = \"sphere\", radius = 1 }\nposition = [0, 1e7, 0]\n", 3, "body[0].position[1]", "at most 1000000"),
    ("bounce above one", "[[body]]\nshape = { type = \"sphere\", radius = 1 }\nrestitution = 1.5\n", 3, "body[0].restitution", "at most 1, not 1.5"),
    ("no density", "[[body]]\nshape = { type = \"sphere\", radius = 1 }\ndensity = 0\n", 3, "body[0].density", "at least 0.001"),
    ("number for flag", "[[body]]\nshape = { type = \"sphere\", radius = 1 }\ncontinuous = 1\n", 3, "body[0].continuous", "true or false"),
    ("name taken", "[[body]]\nname = \"a\"\nshape = { type = \"sphere\", radius = 1 }\n[[body]]\nname = \"a\"\nshape = { type = \"sphere\", radius = 1 }\n", 5, "body[1].name", "already taken by the body of line 1"),
    ("a body with a grid's name", "[[grid]]\nname = \"g\"\nshape = { type = \"sphere\", radius = 1 }\ncount = [1, 1, 1]\nspacing = [3, 3, 3]\n[[body]]\nname = \"g[0,0,0]\"\nshape = { type = \"sphere\", radius = 1 }\n", 7, "body[0].name", "body of a grid"),
    ("a grid with a body's name", "[[body]]\nname = \"g[0,0,0]\"\nshape = { type = \"sphere\", radius = 1 }\n[[grid]]\nname = \"g\"\nshape = { type = \"sphere\", radius = 1 }\ncount = [1, 1, 1]\nspacing = [3, 3, 3]\n", 5, "grid[0].name", "already has the name"),
    ("zero count", "[[grid]]\nshape = { type = \"sphere\", radius = 1 }\ncount = [1, 0, 1]\nspacing = [3, 3, 3]\n", 3, "grid[0].count[1]", "whole number from 1"),
    ("too many bodies", "[[grid]]\nshape = { type = \"sphere\", radius = 1 }\ncount = [200, 200, 101]\nspacing = [3, 3, 3]\n", 3, "grid[0].count", "4040000 bodies are too many"),
    ("too many in all", "[[body]]\nshape = { type = \"sphere\", radius = 1 }\n[[grid]]\nshape = { type = \"sphere\", radius = 1 }\ncount = [200, 200, 100]\nspacing = [3, 3, 3]\n", 5, "grid[0].count", "at most 4000000, 3999999 are left"),
    ("more than can be counted", "[[grid]]\nshape = { type = \"sphere\", radius = 1 }\ncount = [4000000, 4000000, 4000000]\nspacing = [3, 3, 3]\n", 3, "grid[0].count", "64000000000000000000 bodies are too many"),
    ("no spacing", "[[grid]]\nshape = { type = \"sphere\", radius = 1 }\ncount = [1, 1, 1]\n", 1, "grid[0].spacing", "missing key `spacing`"),
    ("no count", "[[grid]]\nshape = { type = \"sphere\", radius = 1 }\nspacing = [1, 1, 1]\n", 1, "grid[0].count", "missing key `count`"),
    ("grid with position", "[[grid]]\nshape = { type = \"sphere\", radius = 1 }\ncount = [1, 1, 1]\nspacing = [1, 1, 1]\nposition = [1, 1, 1]\n", 5, "grid[0].position", "unknown key `position`"),
    // Injectors.
    ("no rate", "[[injector]]\nmin = [0, 0, 0]\nmax = [1, 1, 1]\nshapes = [{ type = \"sphere\", radius = 1 }]\n", 1, "injector[0].rate", "missing key `rate`"),
    ("zero rate", "[[injector]]\nmin = [0, 0, 0]\nmax = [1, 1, 1]\nrate = 0\nshapes = [{ type = \"sphere\", radius = 1 }]\n", 4, "injector[0].rate", "above 0"),
    ("rate too low", "[[injector]]\nmin = [0, 0, 0]\nmax = [1, 1, 1]\nrate = 0.05\nshapes = [{ type = \"sphere\", radius = 1 }]\n", 4, "injector[0].rate", "nothing would ever appear"),
    ("inverted volume", "[[injector]]\nmin = [0, 5, 0]\nmax = [1, 1, 1]\nrate = 1\nshapes = [{ type = \"sphere\", radius = 1 }]\n", 3, "injector[0].max", "not be below `min`"),
    ("inverted velocity", "[[injector]]\nmin = [0, 0, 0]\nmax = [1, 1, 1]\nrate = 1\nvelocity_min = [1, 0, 0]\nvelocity_max = [0, 0, 0]\nshapes = [{ type = \"sphere\", radius = 1 }]\n", 6, "injector[0].velocity_max", "not be below"),
    ("ends before it starts", "[[injector]]\nmin = [0, 0, 0]\nmax = [1, 1, 1]\nrate = 1\nfrom = 5\nuntil = 5\nshapes = [{ type = \"sphere\", radius = 1 }]\n", 5, "injector[0].from", "before `until`"),
    ("no shapes", "[[injector]]\nmin = [0, 0, 0]\nmax = [1, 1, 1]\nrate = 1\nshapes = []\n", 5, "injector[0].shapes", "at least one shape"),
    ("plane rain", "[[injector]]\nmin = [0, 0, 0]\nmax = [1, 1, 1]\nrate = 1\nshapes = [{ type = \"plane\" }]\n", 5, "injector[0].shapes[0].type", "cannot be a moving body"),
    ("too many injected", "[[injector]]\nmin = [0, 0, 0]\nmax = [1, 1, 1]\nrate = 1000000\nuntil = 5\nshapes = [{ type = \"sphere\", radius = 1 }]\n", 4, "injector[0].rate", "5000000 injected bodies are too many"),
];

/// Mistakes of joints and commands stand after these two bodies (8 lines).
const TWO_BODIES: &str = "[[body]]\nname = \"ball\"\nshape = { type = \"sphere\", radius = 0.1 }\n\n\
                          [[body]]\nname = \"rod\"\nshape = { type = \"sphere\", radius = 0.1 }\nposition = [1, 0, 0]\n";

#[rustfmt::skip]
const WITH_BODIES: &[Case] = &[
    ("unknown body", "[[joint]]\ntype = \"fixed\"\na = \"bal\"\nb = \"rod\"\n", 11, "joint[0].a", "no body named `bal`; did you mean `ball`?"),
    ("a stranger", "[[joint]]\ntype = \"fixed\"\na = \"elephant\"\nb = \"rod\"\n", 11, "joint[0].a", "no body named `elephant`; there are ball, rod"),
    ("unknown joint type", "[[joint]]\ntype = \"hinge\"\na = \"ball\"\nb = \"rod\"\nanchor = [0, 0, 0]\n", 10, "joint[0].type", "unknown joint type `hinge`"),
    ("to itself", "[[joint]]\ntype = \"fixed\"\na = \"rod\"\nb = \"rod\"\n", 12, "joint[0].b", "two different bodies"),
    ("zero axis", "[[joint]]\ntype = \"revolute\"\na = \"ball\"\nb = \"rod\"\nanchor = [0, 0, 0]\naxis = [0, 0, 0]\n", 14, "joint[0].axis", "not be zero"),
    ("no axis", "[[joint]]\ntype = \"prismatic\"\na = \"ball\"\nb = \"rod\"\nanchor = [0, 0, 0]\n", 9, "joint[0].axis", "missing key `axis`"),
    ("ends far apart", "[[joint]]\ntype = \"spherical\"\na = \"ball\"\nb = \"rod\"\n", 11, "joint[0].a", "1.00 m apart"),
    ("off the slider", "[[joint]]\ntype = \"prismatic\"\na = \"ball\"\nb = \"rod\"\naxis = [0, 1, 0]\n", 11, "joint[0].a", "1.00 m apart"),
    ("two kinds of anchors", "[[joint]]\ntype = \"spherical\"\na = \"ball\"\nb = \"rod\"\nanchor = [0, 0, 0]\nanchor_b = [0, 0, 0]\n", 14, "joint[0].anchor_b", "not both"),
    ("no second body", "[[joint]]\ntype = \"fixed\"\na = \"ball\"\n", 9, "joint[0].b", "missing key `b`"),
    ("joint key", "[[joint]]\ntype = \"fixed\"\na = \"ball\"\nb = \"rod\"\nanchor = [0, 0, 0]\nanchorb = 1\n", 14, "joint[0].anchorb", "did you mean `anchor`?"),
    ("command to nobody", "[[command]]\nat = 1\nbody = \"rob\"\nimpulse = [0, 1, 0]\n", 11, "command[0].body", "did you mean `rod`?"),
    ("command before the start", "[[command]]\nat = -1\nbody = \"rod\"\nimpulse = [0, 1, 0]\n", 10, "command[0].at", "at least 0"),
    ("command without time", "[[command]]\nbody = \"rod\"\nimpulse = [0, 1, 0]\n", 9, "command[0].at", "missing key `at`"),
    ("command without effect", "[[command]]\nat = 1\nbody = \"rod\"\n", 9, "command[0].impulse", "missing key `impulse`"),
    ("two effects", "[[command]]\nat = 1\nbody = \"rod\"\nimpulse = [0, 1, 0]\nvelocity = [0, 1, 0]\n", 13, "command[0].velocity", "not both"),
];

fn check(case: &Case, text: &str) {
    let (what, _, line, key, part) = case;
    let SceneErrors { errors, .. } = Scene::parse(text, None).expect_err(what);
    let found = errors
        .iter()
        .any(|e| e.line == *line && e.key == *key && e.message.contains(part));
    assert!(
        found,
        "{what}: expected {line}: {key}: ..{part}.., got {errors:#?}"
    );
    // A syntax error may upset what follows it; every other mistake is reported once and nothing else is.
    assert!(
        key.is_empty() || errors.len() == 1,
        "{what}: follow-ups {errors:#?}"
    );
}

#[test]
fn every_mistake_is_found_at_its_place() {
    for case in CASES {
        check(case, case.1);
    }
    for case in WITH_BODIES {
        check(case, &format!("{TWO_BODIES}{}", case.1));
    }
}

#[test]
fn joints_that_align_refuse_twisted_bodies() {
    let text = "[[body]]\nname = \"a\"\nshape = { type = \"sphere\", radius = 0.1 }\n\
                [[body]]\nname = \"b\"\nshape = { type = \"sphere\", radius = 0.1 }\nrotation = [0, 90, 0]\n\
                [[joint]]\ntype = \"TYPE\"\na = \"a\"\nb = \"b\"\nanchor = [0, 0, 0]\naxis = [0, 1, 0]\n";
    for (kind, fits) in [
        ("fixed", false),
        ("prismatic", false),
        ("revolute", true),
        ("spherical", true),
    ] {
        let outcome = Scene::parse(&text.replace("TYPE", kind), None);
        assert_eq!(outcome.is_ok(), fits, "{kind}: {outcome:?}");
    }
}

#[test]
fn all_mistakes_of_a_file_are_reported_in_order_with_columns() {
    let text = "secnods = 3\n[[body]]\nshape = { type = \"sphere\", radius = -1 }\nfriction = \"high\"\n\
                [[joint]]\ntype = \"fixed\"\na = \"x\"\nb = \"y\"\n";
    let errors = Scene::parse(text, None).unwrap_err();
    let places: Vec<(usize, usize, &str)> = errors
        .errors
        .iter()
        .map(|e| (e.line, e.column, e.key.as_str()))
        .collect();
    let expected = [
        (1, 1, "secnods"),
        (3, 37, "body[0].shape.radius"),
        (4, 12, "body[0].friction"),
        (7, 5, "joint[0].a"),
        (8, 5, "joint[0].b"),
    ];
    assert_eq!(places, expected);
    let printed = errors.of_file("bad.toml").to_string();
    assert!(
        printed.contains("\nbad.toml:3:37: body[0].shape.radius: radius must be"),
        "{printed}"
    );
}

#[test]
fn columns_count_characters_not_bytes() {
    let errors = Scene::parse(
        "name = \"höhe\"\n\"größe\" = 1\n[[body]]\nname = \"ü\" \nshäpe = 1",
        None,
    )
    .unwrap_err();
    assert_eq!(errors.errors[0].line, 5, "{errors}");
    let errors = Scene::parse("[[command]]\n\"ä\" = { }", None).unwrap_err();
    assert!(
        errors.errors.iter().any(|e| (e.line, e.column) == (2, 1)),
        "{errors}"
    );
}

#[test]
fn endless_mistakes_are_counted_not_listed() {
    let text: String = (0..5000).map(|i| format!("wrong{i} = 1\n")).collect();
    let errors = Scene::parse(&text, None).unwrap_err();
    assert_eq!(errors.errors.len(), SceneErrors::MOST_LISTED);
    assert_eq!(errors.unlisted, 5000 - SceneErrors::MOST_LISTED);
    assert!(errors.to_string().ends_with("and 4900 more"));
}

#[test]
fn a_file_of_more_than_16_mib_is_refused_unread() {
    let text = "#".repeat(scenes::MAX_FILE_BYTES + 1);
    let errors = Scene::parse(&text, None).unwrap_err();
    assert!(
        errors.errors[0].message.contains("at most 16777216 bytes"),
        "{errors}"
    );
}

#[test]
fn there_are_no_more_boxes_than_regions() {
    let boxes = vec!["{}"; 1025].join(",");
    let world = "[world]\nmin = [0, 0]\nmax = [9, 9]\n[regions]\nlayout = \"boxes\"\n";
    let wrong = Scene::parse(&format!("{world}boxes = [{boxes}]\n"), None).unwrap_err();
    let expected = "regions.boxes: at most 1024 entries are allowed, not 1025";
    assert!(wrong.to_string().contains(expected), "{wrong}");
}
