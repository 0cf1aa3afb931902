//! The thesis's own narrow phase (4.3.2.3): two trees of triangles walked together, down to a depth that time allows.
//!
//! ```text
//!   the body with more triangles keeps its frame;          A: box ─ box ─ … ─ triangles     in place
//!   of the other only what the walk visits is moved         B: box ─ box ─ … ─ triangles     moved when first met
//! ```
//!
//! One relative transform per pair. Every volume or triangle of the smaller body is moved into the larger one's frame at most once
//! per test: a stamp says for which test it was moved (ST-14). At the depth limit two overlapping volumes are reported as an
//! approximate contact: false alarms are possible, a contact is never missed.

use crate::forms::Geometry;
use crate::narrow::{Contact, Level, NarrowPhase, Placed, approximate, keep_deepest};
use crate::triangles;
use glam::{Mat3, Vec3};
use parry3d::shape::{SharedShape, TypedShape};

/// How finely round shapes are cut into triangles.
const AROUND: u32 = 16;
/// A leaf has at most so many triangles.
const LEAF_TRIANGLES: usize = 2;

/// A shape's triangles in a binary tree of boxes, in the body's own frame.
#[derive(Clone, Debug, Default)]
pub struct MeshTree {
    nodes: Vec<MeshNode>,
    triangles: Vec<[Vec3; 3]>,
}

#[derive(Clone, Copy, Debug)]
struct MeshNode {
    min: Vec3,
    max: Vec3,
    /// Inner: the left child, the right one follows its sub-tree. Leaf: the first triangle.
    first: u32,
    right: u32,
    /// Zero for inner nodes.
    triangles: u32,
    depth: u32,
}

impl MeshTree {
    /// The triangles of a shape's surface. A half-space has none.
    pub fn of(shape: &SharedShape) -> Self {
        let mut triangles = Vec::new();
        collect(shape, &mut triangles);
        Self::from_triangles(triangles)
    }

    /// From a list.
    pub fn from_triangles(mut triangles: Vec<[Vec3; 3]>) -> Self {
        let mut nodes = Vec::new();
        if !triangles.is_empty() {
            build(&mut nodes, &mut triangles, 0, 0);
        }
        Self { nodes, triangles }
    }

    /// How many triangles there are.
    pub fn len(&self) -> usize {
        self.triangles.len()
    }

    /// Has it none?
    pub fn is_empty(&self) -> bool {
        self.triangles.is_empty()
    }

    /// The triangles.
    pub fn triangles(&self) -> &[[Vec3; 3]] {
        &self.triangles
    }

    /// How many volumes there are.
    pub fn volumes(&self) -> usize {
        self.nodes.len()
    }

    /// The depth of the deepest volume.
    pub fn depth(&self) -> u32 {
        self.nodes.iter().map(|node| node.depth).max().unwrap_or(0)
    }
}

fn collect(shape: &SharedShape, out: &mut Vec<[Vec3; 3]>) {
    let (points, faces) = match shape.as_typed_shape() {
        TypedShape::Ball(ball) => ball.to_trimesh(AROUND, AROUND / 2),
        TypedShape::Cuboid(cuboid) => cuboid.to_trimesh(),
        TypedShape::Capsule(capsule) => capsule.to_trimesh(AROUND, AROUND / 2),
        TypedShape::ConvexPolyhedron(hull) => hull.to_trimesh(),
        TypedShape::TriMesh(mesh) => (mesh.vertices().to_vec(), mesh.indices().to_vec()),
        TypedShape::Compound(compound) => {
            for (pose, part) in compound.shapes() {
                let start = out.len();
                collect(part, out);
                for triangle in &mut out[start..] {
                    *triangle = triangle.map(|corner| pose.transform_point(corner));
                }
            }
            return;
        }
        _ => return,
    };
    out.extend(
        faces
            .iter()
            .map(|face| face.map(|corner| points[corner as usize])),
    );
}

/// Halves the triangles at their median along the longest side of the box around them.
fn build(nodes: &mut Vec<MeshNode>, triangles: &mut [[Vec3; 3]], first: usize, depth: u32) -> u32 {
    let corners = || triangles.iter().flatten().copied();
    let (min, max) = (
        corners().fold(Vec3::INFINITY, Vec3::min),
        corners().fold(Vec3::NEG_INFINITY, Vec3::max),
    );
    let index = nodes.len();
    nodes.push(MeshNode {
        min,
        max,
        first: first as u32,
        right: 0,
        triangles: triangles.len() as u32,
        depth,
    });
    if triangles.len() <= LEAF_TRIANGLES {
        return index as u32;
    }
    let axis = crate::bounds::longest_axis(max - min);
    let middle = |t: &[Vec3; 3]| t[0][axis] + t[1][axis] + t[2][axis];
    triangles.sort_by(|a, b| middle(a).total_cmp(&middle(b)));
    let half = triangles.len() / 2;
    let (low, high) = triangles.split_at_mut(half);
    let left = build(nodes, low, first, depth + 1);
    let right = build(nodes, high, first + half, depth + 1);
    nodes[index].triangles = 0;
    nodes[index].first = left;
    nodes[index].right = right;
    index as u32
}

/// Walks two trees of triangles.
#[derive(Default)]
pub struct MeshNarrow {
    stamp: u32,
    volumes: Vec<(u32, Vec3, Vec3)>,
    triangles: Vec<(u32, [Vec3; 3])>,
    moved: u64,
    stack: Vec<(u32, u32)>,
    found: Vec<Contact>,
}

/// From the smaller body's frame into the larger one's.
struct Relative {
    turn: Mat3,
    reach: Mat3,
    shift: Vec3,
}

impl MeshNarrow {
    /// How many volumes and triangles were moved from one frame to another, ever (ST-14).
    pub fn transforms(&self) -> u64 {
        self.moved
    }

    fn begin(&mut self, smaller: &MeshTree) {
        self.stamp = self.stamp.wrapping_add(1).max(1);
        if self.stamp == 1 {
            self.volumes.iter_mut().for_each(|volume| volume.0 = 0);
            self.triangles
                .iter_mut()
                .for_each(|triangle| triangle.0 = 0);
        }
        if self.volumes.len() < smaller.volumes() {
            self.volumes
                .resize(smaller.volumes(), (0, Vec3::ZERO, Vec3::ZERO));
        }
        if self.triangles.len() < smaller.len() {
            self.triangles.resize(smaller.len(), (0, [Vec3::ZERO; 3]));
        }
    }

    fn volume(&mut self, tree: &MeshTree, node: u32, relative: &Relative) -> (Vec3, Vec3) {
        let cached = &mut self.volumes[node as usize];
        if cached.0 != self.stamp {
            let MeshNode { min, max, .. } = tree.nodes[node as usize];
            let centre = relative.turn * ((min + max) * 0.5) + relative.shift;
            let half = relative.reach * ((max - min) * 0.5);
            *cached = (self.stamp, centre - half, centre + half);
            self.moved += 1;
        }
        (cached.1, cached.2)
    }

    fn triangle(&mut self, tree: &MeshTree, index: u32, relative: &Relative) -> [Vec3; 3] {
        let cached = &mut self.triangles[index as usize];
        if cached.0 != self.stamp {
            let moved = tree.triangles[index as usize]
                .map(|corner| relative.turn * corner + relative.shift);
            *cached = (self.stamp, moved);
            self.moved += 1;
        }
        cached.1
    }

    /// Contacts in the larger body's frame, normals from it to the smaller one.
    fn walk(&mut self, large: &MeshTree, small: &MeshTree, relative: &Relative, level: Level) {
        self.begin(small);
        let deepest = level.max_depth.unwrap_or(u32::MAX);
        let mut stack = std::mem::take(&mut self.stack);
        stack.clear();
        stack.push((0, 0));
        while let Some((x, y)) = stack.pop() {
            let node = large.nodes[x as usize];
            let (min, max) = self.volume(small, y, relative);
            if !(node.min.cmple(max).all() && min.cmple(node.max).all()) {
                continue;
            }
            let other = small.nodes[y as usize];
            let enough = |found: &Vec<Contact>| {
                level
                    .max_contacts
                    .is_some_and(|most| found.len() >= most.max(1) as usize)
            };
            if node.depth.max(other.depth) >= deepest {
                self.found.push(approximate(node.min, node.max, min, max));
            } else if node.triangles > 0 && other.triangles > 0 {
                self.compare(large, &node, small, &other, relative);
            } else if other.triangles > 0
                || (node.triangles == 0 && volume_of(&node) >= volume_of(&other))
            {
                stack.extend([(node.right, y), (node.first, y)]);
            } else {
                stack.extend([(x, other.right), (x, other.first)]);
            }
            if enough(&self.found) {
                break;
            }
        }
        self.stack = stack;
    }

    fn compare(
        &mut self,
        large: &MeshTree,
        node: &MeshNode,
        small: &MeshTree,
        other: &MeshNode,
        relative: &Relative,
    ) {
        for i in node.first..node.first + node.triangles {
            for j in other.first..other.first + other.triangles {
                let theirs = self.triangle(small, j, relative);
                if let Some((point, normal, depth)) =
                    triangles::meet(&large.triangles[i as usize], &theirs)
                {
                    self.found.push(Contact {
                        point,
                        normal,
                        depth,
                        approximate: false,
                    });
                }
            }
        }
    }
}

fn volume_of(node: &MeshNode) -> f32 {
    let size = node.max - node.min;
    size.x * size.y + size.y * size.z + size.z * size.x
}

impl NarrowPhase for MeshNarrow {
    fn contacts(&mut self, a: &Placed<'_>, b: &Placed<'_>, level: Level, out: &mut Vec<Contact>) {
        let (first, second) = (a.geometry.mesh(), b.geometry.mesh());
        if first.is_empty() || second.is_empty() {
            // A half-space has no triangles.
            crate::ParryNarrow::default().contacts(a, b, level, out);
            return;
        }
        // The body with more triangles keeps its frame.
        let swapped = second.len() > first.len();
        let (large, small) = if swapped { (b, a) } else { (a, b) };
        let from_world = large.rotation.conjugate();
        let turn = Mat3::from_quat(from_world * small.rotation);
        let relative = Relative {
            reach: turn.abs(),
            turn,
            shift: from_world * (small.offset - large.offset),
        };
        self.found.clear();
        self.walk(
            large.geometry.mesh(),
            small.geometry.mesh(),
            &relative,
            level,
        );
        keep_deepest(&mut self.found, level.max_contacts);
        for contact in self.found.drain(..) {
            let normal = large.rotation * contact.normal;
            out.push(Contact {
                point: large.rotation * contact.point + large.offset,
                normal: if swapped { -normal } else { normal },
                ..contact
            });
        }
    }
}

/// All pairs of triangles, one by one: what the tree must agree with (ST-12).
pub fn brute_force(a: &Geometry, b: &Placed<'_>) -> bool {
    let theirs: Vec<[Vec3; 3]> = (b.geometry.mesh().triangles().iter())
        .map(|triangle| triangle.map(|corner| b.rotation * corner + b.offset))
        .collect();
    let meets = |mine: &[Vec3; 3]| {
        theirs
            .iter()
            .any(|other| triangles::meet(mine, other).is_some())
    };
    a.mesh().triangles().iter().any(meets)
}
