//! `[[joint]]` and `[[command]]`: what names bodies.

use crate::bodies::{Cast, POSITION, VELOCITY, position};
use crate::nearest::nearest;
use crate::reader::{Allowed, Table};
use crate::shapes::vec3;
use crate::{Action, Command, MAX_SECONDS};
use domain::{BodyId, Joint, JointId, JointKind, Motion};
use glam::{DVec3, Vec3};

pub(crate) const JOINT_KEYS: &[&str] =
    &["type", "a", "b", "anchor", "anchor_a", "anchor_b", "axis"];
pub(crate) const COMMAND_KEYS: &[&str] = &["at", "body", "impulse", "velocity"];
pub(crate) const JOINT_TYPES: &[(&str, JointKind)] = &[
    ("fixed", JointKind::Fixed),
    ("revolute", JointKind::Revolute),
    ("spherical", JointKind::Spherical),
    ("prismatic", JointKind::Prismatic),
];

/// A joint's two ends may start this far apart, metres. The solver pulls them together; from further
/// away it would do so with a bang.
const MAX_ANCHOR_GAP: f64 = 0.5;
/// Joints have no frame of their own: what they lock is the difference between the bodies' axes.
const MAX_START_TWIST_DEGREES: f32 = 10.0;
const MAX_JOINTS: usize = 200_000;
pub(crate) const MAX_COMMANDS: usize = 100_000;
/// So many names are searched for one similar to a mistyped one.
const MOST_COMPARED: usize = 2000;

pub(crate) fn read_joints(root: &Table, cast: &Cast) -> Vec<Joint> {
    let tables = root.tables("joint", MAX_JOINTS);
    let read = |(i, table): (usize, &Table)| read_joint(JointId(i as u64 + 1), table, cast);
    tables.iter().enumerate().filter_map(read).collect()
}

fn read_joint(id: JointId, table: &Table, cast: &Cast) -> Option<Joint> {
    let before = table.problems().count();
    table.allow(&[JOINT_KEYS]);
    let kind = table.required("type", "fixed, revolute, spherical or prismatic");
    let kind = kind.and_then(|f| f.choice("joint type", JOINT_TYPES));
    let (a, b) = (
        read_body_name(table, "a", cast),
        read_body_name(table, "b", cast),
    );
    let axis = read_axis(table, kind);
    let anchors = a
        .zip(b)
        .and_then(|(a, b)| read_anchors(table, &cast.body(a).motion, &cast.body(b).motion));
    let (kind, a, b) = (kind?, a?, b?);
    if a == b {
        table.note(
            "b",
            "a joint ties two different bodies, not a body to itself",
        );
        return None;
    }
    let (anchor_a, anchor_b) = anchors?;
    let joint = Joint {
        id,
        kind,
        a,
        b,
        anchor_a,
        anchor_b,
        axis: axis?,
    };
    let whole = before == table.problems().count();
    if whole && !cast.broken.contains(&a) && !cast.broken.contains(&b) {
        check_start(table, &joint, &cast.body(a).motion, &cast.body(b).motion);
    }
    Some(joint)
}

fn read_body_name(table: &Table, key: &str, cast: &Cast) -> Option<BodyId> {
    let field = table.required(key, "the name of a body")?;
    let name = field.text()?;
    let found = cast.names.get(name).copied();
    if found.is_none() {
        let hint = if table.problems().is_full() {
            String::new()
        } else {
            hint(name, cast)
        };
        field.note(format!("there is no body named `{name}`{hint}"));
    }
    found
}

fn hint(name: &str, cast: &Cast) -> String {
    let known = cast.names.keys().map(String::as_str).take(MOST_COMPARED);
    match nearest(name, known) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if cast.names.is_empty() => "; no body of this scene has a name".to_owned(),
        None => format!("; there are {}", some_names(cast)),
    }
}

/// Enough to see how bodies are called in this scene.
fn some_names(cast: &Cast) -> String {
    let mut names: Vec<&str> = cast.names.keys().map(String::as_str).take(9).collect();
    if names.len() == 9 {
        names[8] = "...";
    }
    names.join(", ")
}

fn read_axis(table: &Table, kind: Option<JointKind>) -> Option<Vec3> {
    let axis_matters = matches!(kind, Some(JointKind::Revolute | JointKind::Prismatic));
    let field = match table.field("axis") {
        None if !axis_matters => return Some(Vec3::X),
        None => table.required("axis", "the direction of the hinge or slider")?,
        Some(field) => field,
    };
    let axis = vec3(&field, Allowed::within(1e3))?.try_normalize();
    if axis.is_none() {
        field.note("an axis must not be zero");
    }
    axis
}

/// Either `anchor`, a point in the world, or a point in each body's own frame.
fn read_anchors(table: &Table, a: &Motion, b: &Motion) -> Option<(Vec3, Vec3)> {
    let own = |key| match table.field(key) {
        Some(field) => vec3(&field, POSITION),
        None => Some(Vec3::ZERO),
    };
    let Some(common) = table.field("anchor") else {
        return Some((own("anchor_a")?, own("anchor_b")?));
    };
    for key in ["anchor_a", "anchor_b"] {
        if table.field(key).is_some() {
            table.note(
                key,
                format!("give `anchor` (a point in the world) or `{key}`, not both"),
            );
        }
    }
    let point = position(&common)?;
    Some((in_frame(a, point), in_frame(b, point)))
}

fn in_frame(motion: &Motion, point: DVec3) -> Vec3 {
    let from_origin = point - motion.position;
    (motion.rotation.as_dquat().inverse() * from_origin).as_vec3()
}

fn in_world(motion: &Motion, anchor: Vec3) -> DVec3 {
    motion.position + motion.rotation.as_dquat() * anchor.as_dvec3()
}

/// Would the joint's first step be a bang?
fn check_start(table: &Table, joint: &Joint, a: &Motion, b: &Motion) {
    let mut gap = in_world(b, joint.anchor_b) - in_world(a, joint.anchor_a);
    if joint.kind == JointKind::Prismatic {
        let along = (a.rotation * joint.axis).as_dvec3();
        gap -= along * gap.dot(along);
    }
    if gap.length() > MAX_ANCHOR_GAP {
        let (metres, limit) = (gap.length(), MAX_ANCHOR_GAP);
        table.note(
            "a",
            format!("the joint's two ends start {metres:.2} m apart; at most {limit} m is allowed"),
        );
    }
    let twist = match joint.kind {
        JointKind::Spherical => 0.0,
        JointKind::Revolute => (a.rotation * joint.axis).angle_between(b.rotation * joint.axis),
        JointKind::Fixed | JointKind::Prismatic => a.rotation.angle_between(b.rotation),
    };
    if twist.to_degrees() > MAX_START_TWIST_DEGREES {
        let (degrees, limit) = (twist.to_degrees(), MAX_START_TWIST_DEGREES);
        table.note("type", format!("this joint aligns the two bodies, but they start {degrees:.0} degrees apart; at most {limit} are allowed"));
    }
}

/// Commands by time; `pushes` are those that shakes add.
pub(crate) fn read_commands(root: &Table, cast: &Cast, pushes: Vec<Command>) -> Vec<Command> {
    let tables = root.tables("command", MAX_COMMANDS);
    let mut commands: Vec<Command> = tables
        .iter()
        .filter_map(|t| read_command(t, cast))
        .collect();
    commands.extend(pushes);
    // Stable: commands of one time keep the file's order.
    commands.sort_by(|a, b| a.at.total_cmp(&b.at));
    commands
}

fn read_command(table: &Table, cast: &Cast) -> Option<Command> {
    table.allow(&[COMMAND_KEYS]);
    let at = table.required("at", "when, in seconds");
    let at = at.and_then(|f| f.number(Allowed::at_least(0.0).up_to(MAX_SECONDS)));
    let body = read_body_name(table, "body", cast);
    let action = read_action(table);
    Some(Command {
        at: at?,
        body: body?,
        action: action?,
    })
}

fn read_action(table: &Table) -> Option<Action> {
    match (table.field("impulse"), table.field("velocity")) {
        (Some(impulse), None) => Some(Action::Impulse(vec3(&impulse, Allowed::within(1e9))?)),
        (None, Some(velocity)) => Some(Action::Velocity(vec3(&velocity, VELOCITY)?)),
        (Some(_), Some(velocity)) => {
            velocity.note("a command has `impulse` or `velocity`, not both");
            None
        }
        (None, None) => {
            table.note(
                "impulse",
                "missing key `impulse` (or `velocity`): what the command does",
            );
            None
        }
    }
}
