//! The binary subdivision of space, and who is in which leaf.
//!
//! ```text
//!                     0                      cut vertices 0 and 2 come from the plan: they say who has what part of
//!              ┌──────┴──────┐               the world, and are never mended
//!         remote: 3          2
//!                     ┌──────┴──────┐
//!                local root     remote: 7    below the local root leaves are cut and mended by how crowded they are
//!                 ┌───┴───┐
//!               leaf     leaf
//! ```
//!
//! A body that reaches a remote vertex is not followed further: it is noted for that vertex's owner (thesis 4.3.2.2). The
//! thesis's listing asks whether a vertex is a leaf before it asks whether it is remote; a remote leaf would then keep the
//! body for itself, so we ask the other way round.

use crate::bounds::{Aabb, Cell, longest_axis};
use crate::limits::{Limits, LimitsError};
use glam::Vec3;
use smallvec::SmallVec;

/// Who has which part of the world, seen by one of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Mine: cut as crowds demand.
    Mine,
    /// Someone else's, by number.
    Remote(u32),
    /// Cut by a plane that stays.
    Cut {
        /// 0, 1, 2 for x, y, z.
        axis: usize,
        /// Where.
        at: f32,
        /// The low and the high side.
        sides: Box<[Plan; 2]>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Vertex {
    /// Children at `left` and `left + 1`.
    Inner {
        axis: u8,
        at: f32,
        left: u32,
    },
    Leaf(u32),
    Remote(u32),
    Free,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    cell: Cell,
    /// The finite part that is halved; `cell` reaches to infinity at the world's edge.
    finite: Aabb,
    parent: u32,
    depth: u32,
    vertex: Vertex,
}

/// A part of space with the bodies that reach into it.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// What belongs to it.
    pub cell: Cell,
    /// Bodies that move.
    pub bodies: SmallVec<[u32; 12]>,
    /// Bodies that never do.
    pub statics: SmallVec<[u32; 2]>,
    node: u32,
}

/// The leaves one body is in.
pub type Rooms = SmallVec<[u32; 8]>;

const NONE: u32 = u32::MAX;

/// The subdivision.
#[derive(Clone, Debug)]
pub struct Tree {
    limits: Limits,
    nodes: Vec<Node>,
    /// Pairs of node places that are free again.
    free_pairs: Vec<u32>,
    leaves: Vec<Leaf>,
    free_leaves: Vec<u32>,
    live_leaves: usize,
    /// The live leaves in the tree's order (ST-7); rebuilt only after a change.
    flat: Vec<u32>,
    flat_is_old: bool,
    rebuilds: u64,
    local_root: u32,
    crowded: Vec<u32>,
    sparse: Vec<u32>,
    static_insertions: u64,
    scratch: Vec<u32>,
    /// Per body: the lowest vertex that held it whole when it was last sorted. Most that move stay below it.
    anchors: Vec<u32>,
}

impl Tree {
    /// Cuts `world` as the plan says; outer parts reach to infinity.
    pub fn new(world: Aabb, plan: &Plan, limits: Limits) -> Result<Self, LimitsError> {
        limits.check()?;
        let mut tree = Self {
            limits,
            nodes: vec![Node {
                cell: Cell::EVERYWHERE,
                finite: world,
                parent: NONE,
                depth: 0,
                vertex: Vertex::Free,
            }],
            free_pairs: Vec::new(),
            leaves: Vec::new(),
            free_leaves: Vec::new(),
            live_leaves: 0,
            flat: Vec::new(),
            flat_is_old: true,
            rebuilds: 0,
            local_root: NONE,
            crowded: Vec::new(),
            sparse: Vec::new(),
            static_insertions: 0,
            scratch: Vec::new(),
            anchors: Vec::new(),
        };
        tree.lay_out(0, plan);
        Ok(tree)
    }

    /// One node's tree: everything is mine.
    pub fn alone(world: Aabb, limits: Limits) -> Result<Self, LimitsError> {
        Self::new(world, &Plan::Mine, limits)
    }

    fn lay_out(&mut self, node: u32, plan: &Plan) {
        match plan {
            Plan::Mine => {
                self.make_leaf(node);
                self.local_root = node;
            }
            Plan::Remote(owner) => self.nodes[node as usize].vertex = Vertex::Remote(*owner),
            Plan::Cut { axis, at, sides } => {
                let left = self.cut(node, *axis, *at);
                self.lay_out(left, &sides[0]);
                self.lay_out(left + 1, &sides[1]);
            }
        }
    }

    fn make_leaf(&mut self, node: u32) -> u32 {
        let cell = self.nodes[node as usize].cell;
        let leaf = Leaf {
            cell,
            bodies: SmallVec::new(),
            statics: SmallVec::new(),
            node,
        };
        let index = match self.free_leaves.pop() {
            Some(index) => {
                self.leaves[index as usize] = leaf;
                index
            }
            None => {
                self.leaves.push(leaf);
                (self.leaves.len() - 1) as u32
            }
        };
        self.nodes[node as usize].vertex = Vertex::Leaf(index);
        self.live_leaves += 1;
        self.flat_is_old = true;
        index
    }

    /// Makes a vertex an inner one; its children are still to be given a kind.
    fn cut(&mut self, node: u32, axis: usize, at: f32) -> u32 {
        let parent = self.nodes[node as usize];
        let cells = parent.cell.halves(axis, at);
        let mut finite = [parent.finite; 2];
        let inside = at.clamp(parent.finite.min[axis], parent.finite.max[axis]);
        finite[0].max[axis] = inside;
        finite[1].min[axis] = inside;
        let child = |side: usize| Node {
            cell: cells[side],
            finite: finite[side],
            parent: node,
            depth: parent.depth + 1,
            vertex: Vertex::Free,
        };
        let left = match self.free_pairs.pop() {
            Some(left) => {
                self.nodes[left as usize] = child(0);
                self.nodes[left as usize + 1] = child(1);
                left
            }
            None => {
                self.nodes.extend([child(0), child(1)]);
                (self.nodes.len() - 2) as u32
            }
        };
        self.nodes[node as usize].vertex = Vertex::Inner {
            axis: axis as u8,
            at,
            left,
        };
        left
    }

    /// Cuts every local leaf at its middle until size, depth or number say stop, whatever is in it: the thesis's static
    /// subdivision (ST-1). Shallow leaves first, so that a limit of their number is used evenly.
    pub fn subdivide(&mut self) {
        let mut waiting: std::collections::VecDeque<u32> = self.leaves_in_order().into();
        while let Some(leaf) = waiting.pop_front() {
            if let Some((low, high)) = self.split(leaf, |_| None) {
                waiting.extend([low, high]);
            }
        }
    }

    fn leaves_in_order(&mut self) -> Vec<u32> {
        self.refresh();
        self.flat.clone()
    }

    /// Where a leaf would be cut; `None` if a limit forbids it.
    fn plane(&self, leaf: u32) -> Option<(usize, f32)> {
        let node = &self.nodes[self.leaves[leaf as usize].node as usize];
        let size = node.finite.size();
        let axis = longest_axis(size);
        let allowed = size[axis] * 0.5 >= self.limits.min_size
            && node.depth < self.limits.max_depth
            && self.live_leaves < self.limits.max_leaves;
        allowed.then(|| (axis, node.finite.centre()[axis]))
    }

    /// Cuts a leaf in two. `box_of` gives the box of what is in it; without one it must be empty.
    fn split(&mut self, leaf: u32, box_of: impl Fn(u32) -> Option<Aabb>) -> Option<(u32, u32)> {
        let (axis, at) = self.plane(leaf)?;
        let old = self.leaves[leaf as usize].clone();
        self.live_leaves -= 1;
        let left = self.cut(old.node, axis, at);
        self.free_leaves.push(leaf);
        let sides = [self.make_leaf(left), self.make_leaf(left + 1)];
        for side in sides {
            let cell = self.leaves[side as usize].cell;
            let reaches = |body: &u32| box_of(*body).is_some_and(|aabb| cell.reached_by(&aabb));
            let bodies = old.bodies.iter().copied().filter(reaches).collect();
            let statics = old.statics.iter().copied().filter(reaches).collect();
            let new = &mut self.leaves[side as usize];
            new.bodies = bodies;
            new.statics = statics;
        }
        Some((sides[0], sides[1]))
    }

    /// Cuts crowded leaves and mends sparse ones (ST-6). `rooms` and `boxes` are those of all bodies, by number.
    pub fn adapt(&mut self, boxes: &[Aabb], rooms: &mut [Rooms]) {
        while let Some(leaf) = self.crowded.pop() {
            let is_crowded = self.is_live(leaf)
                && self.leaves[leaf as usize].bodies.len() > self.limits.split_above;
            if is_crowded {
                self.split_filled(leaf, boxes, rooms);
            }
        }
        while let Some(node) = self.sparse.pop() {
            self.mend(node, rooms);
        }
    }

    fn is_live(&self, leaf: u32) -> bool {
        let node = self.leaves[leaf as usize].node;
        self.nodes[node as usize].vertex == Vertex::Leaf(leaf)
    }

    fn split_filled(&mut self, leaf: u32, boxes: &[Aabb], rooms: &mut [Rooms]) {
        let bodies = self.leaves[leaf as usize].bodies.clone();
        let statics = self.leaves[leaf as usize].statics.clone();
        let Some((low, high)) = self.split(leaf, |body| Some(boxes[body as usize])) else {
            return;
        };
        for body in bodies.iter().chain(&statics) {
            rooms[*body as usize].retain(|room| *room != leaf);
        }
        for side in [low, high] {
            let new = &self.leaves[side as usize];
            for body in new.bodies.iter().chain(&new.statics) {
                rooms[*body as usize].push(side);
            }
            if new.bodies.len() > self.limits.split_above {
                self.crowded.push(side);
            }
        }
    }

    /// Puts two sibling leaves together if there are few in both.
    fn mend(&mut self, node: u32, rooms: &mut [Rooms]) {
        let Vertex::Inner { left, .. } = self.nodes[node as usize].vertex else {
            return;
        };
        let (Vertex::Leaf(low), Vertex::Leaf(high)) = (
            self.nodes[left as usize].vertex,
            self.nodes[left as usize + 1].vertex,
        ) else {
            return;
        };
        let [a, b] = [low, high].map(|leaf| &self.leaves[leaf as usize]);
        let mut bodies = a.bodies.clone();
        bodies.extend(
            b.bodies
                .iter()
                .copied()
                .filter(|body| !a.bodies.contains(body)),
        );
        if bodies.len() >= self.limits.merge_below {
            return;
        }
        let mut statics = a.statics.clone();
        statics.extend(
            b.statics
                .iter()
                .copied()
                .filter(|body| !a.statics.contains(body)),
        );
        for (leaf, child) in [(low, left), (high, left + 1)] {
            self.nodes[child as usize].vertex = Vertex::Free;
            self.free_leaves.push(leaf);
        }
        self.free_pairs.push(left);
        self.live_leaves -= 2;
        let whole = self.make_leaf(node);
        for body in bodies.iter().chain(&statics) {
            let rooms = &mut rooms[*body as usize];
            rooms.retain(|room| *room != low && *room != high);
            rooms.push(whole);
        }
        let merged = &mut self.leaves[whole as usize];
        merged.bodies = bodies;
        merged.statics = statics;
        let parent = self.nodes[node as usize].parent;
        if self.is_mendable(parent) {
            self.sparse.push(parent);
        }
    }

    /// Is it the parent of vertices that were cut because of a crowd, and not by the plan?
    fn is_mendable(&self, node: u32) -> bool {
        node != NONE
            && self.nodes[node as usize].depth >= self.nodes[self.local_root as usize].depth
    }

    /// Every leaf and every remote owner that the box reaches.
    #[inline]
    pub fn reach(&self, aabb: &Aabb, rooms: &mut Rooms, remotes: &mut SmallVec<[u32; 4]>) {
        let root = self.local_root;
        // Most bodies are well inside: no need to start at the top (ST-7).
        let start = if root != NONE && self.nodes[root as usize].cell.contains(aabb) {
            root
        } else {
            0
        };
        self.reach_from(start, aabb, rooms, remotes);
    }

    /// Every remote owner that the box reaches, and whether it reaches my part: the walk of [`reach`](Self::reach) without my own leaves, for the box of a body that was sorted before.
    #[inline]
    pub fn reach_owners(&self, body: u32, aabb: &Aabb, remotes: &mut SmallVec<[u32; 4]>) -> bool {
        let root = self.local_root;
        if root != NONE && self.nodes[root as usize].cell.contains(aabb) {
            return true;
        }
        let mut local = false;
        let mut stack: SmallVec<[u32; 64]> = SmallVec::new();
        stack.push(self.start_for(body, aabb));
        while let Some(node) = stack.pop() {
            match self.nodes[node as usize].vertex {
                _ if node == root => local = true,
                Vertex::Leaf(_) => local = true,
                Vertex::Remote(owner) => {
                    if !remotes.contains(&owner) {
                        remotes.push(owner);
                    }
                }
                Vertex::Inner { axis, at, left } => {
                    if aabb.max[axis as usize] >= at {
                        stack.push(left + 1);
                    }
                    if aabb.min[axis as usize] < at {
                        stack.push(left);
                    }
                }
                Vertex::Free => unreachable!("a free vertex has no parent"),
            }
        }
        local
    }

    /// Walks down from a vertex whose cell holds the whole box; the answer is the lowest such vertex.
    #[inline]
    fn reach_from(
        &self,
        start: u32,
        aabb: &Aabb,
        rooms: &mut Rooms,
        remotes: &mut SmallVec<[u32; 4]>,
    ) -> u32 {
        let mut anchor = start;
        while let Vertex::Inner { axis, at, left } = self.nodes[anchor as usize].vertex {
            let (low, high) = (aabb.min[axis as usize] < at, aabb.max[axis as usize] >= at);
            if low && high {
                break;
            }
            anchor = left + u32::from(high);
        }
        let mut stack: SmallVec<[u32; 64]> = SmallVec::new();
        stack.push(anchor);
        while let Some(node) = stack.pop() {
            match self.nodes[node as usize].vertex {
                Vertex::Remote(owner) => {
                    if !remotes.contains(&owner) {
                        remotes.push(owner);
                    }
                }
                Vertex::Leaf(leaf) => rooms.push(leaf),
                Vertex::Inner { axis, at, left } => {
                    if aabb.max[axis as usize] >= at {
                        stack.push(left + 1);
                    }
                    if aabb.min[axis as usize] < at {
                        stack.push(left);
                    }
                }
                Vertex::Free => unreachable!("a free vertex has no parent"),
            }
        }
        anchor
    }

    /// Where to begin the walk for a body that was sorted before. Vertices come, go and are used again; any that is in use and holds the
    /// whole box will do.
    #[inline]
    fn start_for(&self, body: u32, aabb: &Aabb) -> u32 {
        let anchor = self.anchors.get(body as usize).copied().unwrap_or(0);
        let node = &self.nodes[anchor as usize];
        let in_use = matches!(node.vertex, Vertex::Inner { .. } | Vertex::Leaf(_));
        if in_use && node.cell.contains(aabb) {
            anchor
        } else {
            0
        }
    }

    /// Puts a body into the leaves it reaches.
    pub fn insert(&mut self, body: u32, aabb: &Aabb, is_static: bool, rooms: &mut Rooms) {
        let mut remotes = SmallVec::new();
        rooms.clear();
        self.reach(aabb, rooms, &mut remotes);
        for &leaf in rooms.iter() {
            self.enter(leaf, body, is_static);
        }
        self.static_insertions += u64::from(is_static);
    }

    fn enter(&mut self, leaf: u32, body: u32, is_static: bool) {
        let room = &mut self.leaves[leaf as usize];
        if is_static {
            room.statics.push(body);
            return;
        }
        room.bodies.push(body);
        if room.bodies.len() > self.limits.split_above {
            self.crowded.push(leaf);
        }
    }

    fn leave(&mut self, leaf: u32, body: u32) {
        let room = &mut self.leaves[leaf as usize];
        if let Some(place) = room.bodies.iter().position(|other| *other == body) {
            room.bodies.swap_remove(place);
        }
        if room.bodies.len() < self.limits.merge_below {
            let parent = self.nodes[room.node as usize].parent;
            if self.is_mendable(parent) {
                self.sparse.push(parent);
            }
        }
    }

    /// Takes a body out of all its leaves.
    pub fn remove(&mut self, body: u32, rooms: &mut Rooms) {
        for leaf in std::mem::take(rooms) {
            self.leave(leaf, body);
        }
    }

    /// A body has moved. Most stay in their one leaf, which costs six comparisons.
    #[inline]
    pub fn update(&mut self, body: u32, aabb: &Aabb, rooms: &mut Rooms) {
        if let [only] = rooms.as_slice()
            && self.leaves[*only as usize].cell.contains(aabb)
        {
            return;
        }
        self.move_rooms(body, aabb, rooms);
    }

    fn move_rooms(&mut self, body: u32, aabb: &Aabb, rooms: &mut Rooms) {
        let (mut now, mut remotes) = (Rooms::new(), SmallVec::new());
        let start = self.start_for(body, aabb);
        let anchor = self.reach_from(start, aabb, &mut now, &mut remotes);
        if self.anchors.len() <= body as usize {
            self.anchors.resize(body as usize + 1, 0);
        }
        self.anchors[body as usize] = anchor;
        if now == *rooms {
            return;
        }
        for &leaf in rooms.iter().filter(|leaf| !now.contains(leaf)) {
            self.leave(leaf, body);
        }
        for &leaf in now.iter().filter(|leaf| !rooms.contains(leaf)) {
            self.enter(leaf, body, false);
        }
        *rooms = now;
    }

    /// Brings the flat list of leaves up to date, if the tree has changed (ST-7).
    pub fn refresh(&mut self) {
        if !self.flat_is_old {
            return;
        }
        self.flat_is_old = false;
        self.rebuilds += 1;
        self.flat.clear();
        if self.local_root == NONE {
            return;
        }
        let mut stack = std::mem::take(&mut self.scratch);
        stack.clear();
        stack.push(self.local_root);
        while let Some(node) = stack.pop() {
            match self.nodes[node as usize].vertex {
                Vertex::Leaf(leaf) => self.flat.push(leaf),
                Vertex::Inner { left, .. } => stack.extend([left + 1, left]),
                Vertex::Remote(_) | Vertex::Free => {}
            }
        }
        self.scratch = stack;
    }

    /// The local leaves in the tree's order, as of the last [`refresh`](Self::refresh).
    pub fn leaves(&self) -> impl Iterator<Item = &Leaf> {
        self.flat.iter().map(|leaf| &self.leaves[*leaf as usize])
    }

    /// How many local leaves there are.
    pub fn len(&self) -> usize {
        self.live_leaves
    }

    /// A tree has at least one vertex; it may have no local leaf.
    pub fn is_empty(&self) -> bool {
        self.live_leaves == 0
    }

    /// What is mine of the world.
    pub fn local_cell(&self) -> Option<Cell> {
        (self.local_root != NONE).then(|| self.nodes[self.local_root as usize].cell)
    }

    /// How often the flat list was made again.
    pub fn rebuilds(&self) -> u64 {
        self.rebuilds
    }

    /// How often something immoveable was put into leaves (ST-8).
    pub fn static_insertions(&self) -> u64 {
        self.static_insertions
    }

    /// The depth of the deepest local leaf below the root.
    pub fn depth(&self) -> u32 {
        let depth = |leaf: &Leaf| self.nodes[leaf.node as usize].depth;
        self.leaves().map(depth).max().unwrap_or(0)
    }

    /// The shortest side of any local leaf's finite part.
    pub fn shortest_side(&self) -> f32 {
        let side = |leaf: &Leaf| {
            let size = self.nodes[leaf.node as usize].finite.size();
            size.min_element()
        };
        self.leaves().map(side).fold(f32::INFINITY, f32::min)
    }

    /// The world's finite extents, the same on every member.
    pub fn world_size(&self) -> Vec3 {
        self.nodes[0].finite.size()
    }
}
