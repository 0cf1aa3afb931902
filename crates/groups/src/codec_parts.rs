//! The bytes of environments, full and light (ST-50).

use crate::codec::{MAX_OBJECTS, Read, key, list, node};
use crate::{
    Address, AiParameters, Axes, ClientId, ClientInfo, Division, Environment, GroupId, MAX_PARTIES,
    MachineId, Mode, NodeInfo, ObjectClass, ObjectInfo, Population,
};
use domain::Bounds;
use glam::DVec3;
use wire::bytes::{Reader, Why, put_f32, put_f64, put_varint, put_zigzag};

/// The full form: constants, then the light form.
pub(crate) fn environment(out: &mut Vec<u8>, world: &Environment) {
    put_varint(out, world.world);
    let bounds = world.division.world();
    for v in [bounds.min, bounds.max] {
        v.to_array().iter().for_each(|v| put_f64(out, *v));
    }
    out.push(u8::from(world.division.axes() == Axes::Space));
    out.push(u8::from(world.mode == Mode::Synchronised));
    out.push(u8::from(world.dead_reckoning));
    infos(out, &world.objects);
    population(out, &world.population);
}

pub(crate) fn read_environment(r: &mut Reader<'_>) -> Read<Environment> {
    let world = r.varint("world")?;
    let mut corner = || -> Read<DVec3> {
        Ok(DVec3::new(
            r.f64("bounds")?,
            r.f64("bounds")?,
            r.f64("bounds")?,
        ))
    };
    let bounds = Bounds {
        min: corner()?,
        max: corner()?,
    };
    let axes = if r.bool("axes")? {
        Axes::Space
    } else {
        Axes::Ground
    };
    let division = Division::new(bounds, axes).map_err(|_| r.error("bounds", Why::Misplaced))?;
    let mode = if r.bool("mode")? {
        Mode::Synchronised
    } else {
        Mode::Unsynchronised
    };
    let dead_reckoning = r.bool("dead reckoning")?;
    let objects = read_infos(r, MAX_OBJECTS)?;
    let population = read_population(r)?;
    Ok(Environment {
        world,
        division,
        mode,
        dead_reckoning,
        objects,
        population,
    })
}

/// The light form: what can change.
pub(crate) fn population(out: &mut Vec<u8>, parties: &Population) {
    put_varint(out, parties.nodes.len() as u64);
    for info in &parties.nodes {
        put_varint(out, info.node.0.into());
        put_varint(out, info.address.0);
        put_varint(out, info.machine.0);
        put_varint(out, info.group.0.into());
    }
    put_varint(out, parties.clients.len() as u64);
    for info in &parties.clients {
        put_varint(out, info.client.0.into());
        put_varint(out, info.address.0);
        put_varint(out, info.machine.0);
        out.push(u8::from(info.host.is_some()));
        if let Some(host) = info.host {
            put_varint(out, host.0.into());
        }
    }
    infos(out, &parties.avatars);
}

pub(crate) fn read_population(r: &mut Reader<'_>) -> Read<Population> {
    let nodes = list(r, "nodes", 4, MAX_PARTIES, |r| {
        Ok(NodeInfo {
            node: node(r)?,
            address: Address(r.varint("address")?),
            machine: MachineId(r.varint("machine")?),
            group: GroupId(r.varint_u32("group")?),
        })
    })?;
    let clients = list(r, "clients", 4, MAX_PARTIES, |r| {
        Ok(ClientInfo {
            client: ClientId(r.varint_u32("client")?),
            address: Address(r.varint("address")?),
            machine: MachineId(r.varint("machine")?),
            host: if r.bool("host")? {
                Some(node(r)?)
            } else {
                None
            },
        })
    })?;
    Ok(Population {
        nodes,
        clients,
        avatars: read_infos(r, MAX_OBJECTS)?,
    })
}

pub(crate) fn infos(out: &mut Vec<u8>, infos: &[ObjectInfo]) {
    put_varint(out, infos.len() as u64);
    for info in infos {
        put_zigzag(out, info.key.client.into());
        put_varint(out, info.key.id);
        put_varint(out, info.kind.into());
        put_f32(out, info.extent_m);
        match info.class {
            ObjectClass::Static => out.push(0),
            ObjectClass::Physical => out.push(1),
            ObjectClass::Avatar => out.push(2),
            ObjectClass::Ai(ai) => {
                out.push(3);
                put_varint(out, ai.seed);
                put_f32(out, ai.speed);
                put_varint(out, ai.every_ticks.into());
            }
        }
    }
}

pub(crate) fn read_infos(r: &mut Reader<'_>, most: usize) -> Read<Vec<ObjectInfo>> {
    list(r, "objects", 8, most, |r| {
        let (key, kind, extent_m) = (key(r)?, r.varint_u32("kind")?, r.f32("extent")?);
        if !(0.0..=1e6).contains(&extent_m) {
            return Err(r.error("extent", Why::Misplaced));
        }
        let class = match r.u8("class")? {
            0 => ObjectClass::Static,
            1 => ObjectClass::Physical,
            2 => ObjectClass::Avatar,
            3 => {
                let (seed, speed, every_ticks) =
                    (r.varint("seed")?, r.f32("speed")?, r.varint_u32("ticks")?);
                if !(0.0..=crate::MAX_SPEED).contains(&speed) {
                    return Err(r.error("speed", Why::Misplaced));
                }
                ObjectClass::Ai(AiParameters {
                    seed,
                    speed,
                    every_ticks,
                })
            }
            other => return Err(r.error("class", Why::UnknownTag(other))),
        };
        Ok(ObjectInfo {
            key,
            class,
            kind,
            extent_m,
        })
    })
}
