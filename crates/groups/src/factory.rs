//! One instance per object, one geometry per kind (the thesis's ObjectFactory, §4.3.1.2; ST-54).

use crate::{ObjectInfo, ObjectKey};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Makes objects and finds them again. `G` is what all objects of a kind share: shapes, collision trees, textures.
#[derive(Debug)]
pub struct ObjectFactory<G> {
    objects: BTreeMap<ObjectKey, Instance<G>>,
    kinds: BTreeMap<u32, Arc<G>>,
}

/// An object of this world.
#[derive(Debug)]
pub struct Instance<G> {
    /// What it is.
    pub info: ObjectInfo,
    /// What it shares with others of its kind.
    pub geometry: Arc<G>,
}

impl<G> Default for ObjectFactory<G> {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            kinds: BTreeMap::new(),
        }
    }
}

impl<G> ObjectFactory<G> {
    /// The object of that name: the existing one, or a new one. `load` is asked once per kind.
    pub fn get_or_make(&mut self, info: ObjectInfo, load: impl FnOnce(u32) -> G) -> &Instance<G> {
        let kinds = &mut self.kinds;
        self.objects.entry(info.key).or_insert_with(|| {
            let geometry = kinds
                .entry(info.kind)
                .or_insert_with(|| Arc::new(load(info.kind)));
            Instance {
                info,
                geometry: Arc::clone(geometry),
            }
        })
    }

    /// The object of that name; `None` if it was never made. Whoever hears of such an object forgets what was said (ST-22).
    pub fn get(&self, key: ObjectKey) -> Option<&Instance<G>> {
        self.objects.get(&key)
    }

    /// Forgets an object; its geometry stays for the others.
    pub fn remove(&mut self, key: ObjectKey) {
        self.objects.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectClass;

    fn info(id: u64, kind: u32) -> ObjectInfo {
        ObjectInfo {
            key: ObjectKey::persistent(id),
            class: ObjectClass::Physical,
            kind,
            extent_m: 0.5,
        }
    }

    #[test]
    fn st_54_one_instance_per_object_one_geometry_per_kind() {
        let mut factory = ObjectFactory::default();
        let mut loaded = 0;
        let mut make = |factory: &mut ObjectFactory<String>, info| {
            let instance = factory.get_or_make(info, |kind| {
                loaded += 1;
                format!("mesh {kind}")
            });
            (instance.info, Arc::as_ptr(&instance.geometry))
        };
        let first = make(&mut factory, info(1, 5));
        assert_eq!(
            make(&mut factory, info(1, 9)),
            first,
            "it exists: what it is now said to be does not matter"
        );
        let second = make(&mut factory, info(2, 5));
        assert_eq!(second.1, first.1, "the same kind, the same geometry");
        make(&mut factory, info(3, 6));
        assert_eq!(loaded, 2);
        assert!(factory.get(ObjectKey::persistent(4)).is_none());
        factory.remove(ObjectKey::persistent(1));
        assert!(factory.get(ObjectKey::persistent(1)).is_none());
    }
}
