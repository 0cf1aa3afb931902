//! Wavefront .obj: only what a mesh needs, vertices (`v`) and faces (`f`). Faces with more than three
//! corners are cut into a fan. Normals, texture coordinates, groups and materials are skipped.

use crate::MAX_FILE_BYTES;
use glam::Vec3;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// A triangle mesh.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObjMesh {
    pub(crate) vertices: Arc<[Vec3]>,
    pub(crate) triangles: Arc<[[u32; 3]]>,
}

/// Statements that say nothing about where the triangles are.
const SKIPPED: &[&str] = &[
    "vn", "vt", "vp", "o", "g", "s", "usemtl", "mtllib", "l", "p",
];

/// Reads a mesh file; the error names file and line.
pub(crate) fn load(path: &Path) -> Result<ObjMesh, String> {
    let shown = path.display();
    let text = read_text(path).map_err(|e| format!("cannot read {shown}: {e}"))?;
    parse(&text).map_err(|(line, e)| format!("{shown}:{line}: {e}"))
}

fn read_text(path: &Path) -> Result<String, String> {
    let metadata = std::fs::metadata(path).map_err(|e| e.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a file".to_owned());
    }
    let file = File::open(path).map_err(|e| e.to_string())?;
    let mut text = String::new();
    let limit = MAX_FILE_BYTES as u64 + 1;
    file.take(limit)
        .read_to_string(&mut text)
        .map_err(|e| e.to_string())?;
    if text.len() > MAX_FILE_BYTES {
        return Err(format!("a mesh file has at most {MAX_FILE_BYTES} bytes"));
    }
    Ok(text)
}

fn parse(text: &str) -> Result<ObjMesh, (usize, String)> {
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    let mut highest: Option<(u32, usize)> = None;
    for (i, line) in text.lines().enumerate() {
        let statement = line.split('#').next().unwrap_or_default();
        let mut words = statement.split_whitespace();
        let parsed = match words.next() {
            Some("v") => vertex(words).map(|v| vertices.push(v)),
            Some("f") => face(words, vertices.len()).map(|corners| {
                highest = highest.max(corners.iter().max().map(|c| (*c, i + 1)));
                let fan = |k: usize| [corners[0], corners[k], corners[k + 1]];
                triangles.extend((1..corners.len() - 1).map(fan));
            }),
            None => Ok(()),
            Some(word) if SKIPPED.contains(&word) => Ok(()),
            Some(word) => Err(format!(
                "unknown statement `{}`",
                word.chars().take(20).collect::<String>()
            )),
        };
        parsed.map_err(|message| (i + 1, message))?;
    }
    match highest {
        // A face may name a vertex that comes later, so this is only known at the end.
        Some((corner, line)) if corner as usize >= vertices.len() => {
            let message = format!(
                "a face names vertex {}, but there are only {}",
                corner + 1,
                vertices.len()
            );
            Err((line, message))
        }
        _ => Ok(ObjMesh {
            vertices: vertices.into(),
            triangles: triangles.into(),
        }),
    }
}

fn vertex<'w>(words: impl Iterator<Item = &'w str>) -> Result<Vec3, String> {
    let numbers: Vec<f32> = words.map_while(|w| w.parse().ok()).take(3).collect();
    match <[f32; 3]>::try_from(numbers) {
        Ok(xyz) if xyz.iter().all(|v| v.is_finite()) => Ok(Vec3::from_array(xyz)),
        _ => Err("a vertex needs three finite numbers: v x y z".to_owned()),
    }
}

fn face<'w>(words: impl Iterator<Item = &'w str>, so_far: usize) -> Result<Vec<u32>, String> {
    let corners: Vec<u32> = words.map(|w| corner(w, so_far)).collect::<Result<_, _>>()?;
    if corners.len() < 3 {
        return Err(format!(
            "a face needs at least three corners, not {}",
            corners.len()
        ));
    }
    Ok(corners)
}

/// `7`, `7/1`, `7//3` or `7/1/3`: the vertex is the first number; it counts from 1, or backwards from -1.
fn corner(word: &str, so_far: usize) -> Result<u32, String> {
    let bad = || {
        format!(
            "`{}` is not a corner of a face",
            word.chars().take(20).collect::<String>()
        )
    };
    let first = word.split('/').next().unwrap_or_default();
    let number: i64 = first.parse().map_err(|_| bad())?;
    let index = match number {
        0 => return Err("vertices count from 1".to_owned()),
        n if n > 0 => n - 1,
        n => so_far as i64 + n,
    };
    u32::try_from(index).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quads_become_two_triangles_and_negative_corners_count_back() {
        let text = "# a square\nv 0 0 0\nv 1 0 0\nv 1 0 1 # corner\nv 0 0 1\nvn 0 1 0\nf 1//1 2//1 3//1 4//1\nf -4 -3 -2\n";
        let mesh = parse(text).unwrap();
        assert_eq!(mesh.vertices.len(), 4);
        assert_eq!(*mesh.triangles, [[0, 1, 2], [0, 2, 3], [0, 1, 2]]);
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, line, part) in [
            ("v 0 0\n", 1, "three finite numbers"),
            ("v 0 0 0\nv 1 nan 0\n", 2, "three finite numbers"),
            ("v 0 0 0\nf 1 1\n", 2, "at least three"),
            (
                "v 0 0 0\n\nf 1 1 2\n",
                3,
                "names vertex 2, but there are only 1",
            ),
            ("f 0 1 2\n", 1, "count from 1"),
            ("f -1 -2 -3\n", 1, "not a corner"),
            ("v 0 0 0\nf 1 x 1\n", 2, "`x` is not a corner"),
            ("curv 1 2\n", 1, "unknown statement `curv`"),
        ] {
            let (at, message) = parse(text).unwrap_err();
            assert_eq!(at, line, "{text:?}");
            assert!(message.contains(part), "{message}");
        }
    }
}
