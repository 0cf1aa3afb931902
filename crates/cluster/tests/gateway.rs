//! Clients see a live world through a gateway, and change it.

#[allow(dead_code, reason = "shared with other tests")]
mod gateway_common;
#[allow(dead_code, reason = "shared with other tests")]
mod live_common;

use client::{
    Area, ClientError, Event, Injection, Options, RegionPlan, SceneChoice, Spawn, StaticPiece,
    Struck,
};
use domain::{BodyId, Layout, Rect, Shape};
use gateway_common::{Live, until, wait_for};
use glam::{DVec3, Quat, Vec3};
use live_common::{start_bodies, world};
use std::collections::BTreeSet;
use std::time::Duration;

fn in_sight(client: &client::Client) -> BTreeSet<BodyId> {
    client.look(|scene| scene.bodies().map(|(id, _)| id).collect())
}

fn ball(x: f64, y: f64, z: f64) -> Spawn {
    Spawn::new(Shape::Sphere { radius: 0.4 }, DVec3::new(x, y, z))
}

/// Asks until a ray strikes this: rays see the world as of the last step, and what is new may still be on its way. Says how far away it is.
async fn strikes(client: &client::Client, from: DVec3, direction: Vec3, what: Struck) -> f32 {
    let give_up = std::time::Instant::now() + Duration::from_secs(30);
    loop {
        let hit = client.ray(from, direction, 20.0).await.expect("asked");
        match hit {
            Some(hit) if hit.struck == what => return hit.distance,
            other => assert!(
                std::time::Instant::now() < give_up,
                "from {from}: {other:?} instead of {what:?}"
            ),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

// AP-37
#[tokio::test(flavor = "multi_thread")]
async fn a_client_sees_all_bodies_of_four_servers_and_so_does_one_who_comes_later() {
    let all = start_bodies(&world("orbit", 4));
    let live = Live::scene("orbit", 4).await;
    let first = live.client().await;
    until(2.0, "all bodies in sight", || in_sight(&first) == all).await;
    until(3.0, "it moves", || first.look(|scene| scene.frame()) > 30).await;
    let late = live.client().await;
    until(2.0, "a late joiner has all", || in_sight(&late) == all).await;
    let moving = async {
        let mut before = late.bodies();
        for _ in 0..20 {
            let frame = late.look(|scene| scene.shown_frame(late.local()));
            until(3.0, "time goes on", || {
                late.look(|scene| scene.shown_frame(late.local())) >= frame + 3.0
            })
            .await;
            let now = late.bodies();
            assert_eq!(now.len(), all.len(), "every body has a pose");
            let moved = before
                .iter()
                .zip(&now)
                .filter(|((_, a), (_, b))| a.position.distance(b.position) > 0.01);
            assert!(moved.count() > all.len() / 2, "balls circle all the time");
            before = now;
        }
    };
    moving.await;
    let owners: BTreeSet<_> =
        late.look(|scene| scene.bodies().map(|(_, body)| body.owner).collect());
    assert_eq!(owners.len(), 4, "of four servers");
    late.look(|scene| {
        for id in &all {
            assert!(scene.shape(*id).is_some(), "every body has a shape");
        }
        let bound = scene.clock_bound(late.local()).expect("a clock");
        assert!(bound.as_millis() < 20.0, "{bound}");
    });
    live.stop().await;
}

// AP-40: a body that migrates keeps its replica; only its owner changes.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_migrates_is_one_body_all_the_time() {
    let live = Live::scene("orbit", 4).await;
    let mut client = live.client().await;
    let all = start_bodies(&world("orbit", 4));
    until(3.0, "all bodies in sight", || in_sight(&client) == all).await;
    client.take_events();
    let mut changes = 0;
    let mut farthest: f64 = 0.0;
    let start = std::time::Instant::now();
    let poses = |client: &client::Client| -> (f64, Vec<_>) {
        client.look(|scene| {
            let frame = scene.shown_frame(client.local());
            (frame, scene.poses(frame).collect())
        })
    };
    let (mut shown, mut before) = poses(&client);
    while start.elapsed() < Duration::from_secs(8) {
        tokio::time::sleep(Duration::from_millis(16)).await;
        for event in client.take_events() {
            match event {
                Event::Owner { .. } => changes += 1,
                Event::Entered(body) | Event::Left { body, .. } => {
                    panic!("{body} came or went, but all of them were there all the time")
                }
                _ => {}
            }
        }
        let (frame, now) = poses(&client);
        assert_eq!(now.len(), all.len());
        let secs = (frame - shown).abs() / 30.0;
        for ((_, a), (_, b)) in before.iter().zip(&now) {
            let excess = a.position.distance(b.position) - 8.0 * secs;
            farthest = farthest.max(excess);
        }
        (shown, before) = (frame, now);
    }
    assert!(changes > 3, "balls change owners: {changes}");
    // They fly at up to 8 m/s of the time that is shown, however late a busy machine shows it; nothing jumps.
    assert!(farthest < 0.5, "{farthest} m farther than it flew");
    live.stop().await;
}

// AP-43: position and direction; the responsible server acts. Queries reach over borders.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_spawned_pushed_hit_and_removed_across_a_border() {
    let live = Live::scene("stacks", 4).await;
    let mut client = live.client().await;
    until(3.0, "something in sight", || !in_sight(&client).is_empty()).await;
    // Two balls far up, on both sides of a border.
    let west = client.spawn(ball(-3.0, 60.0, 3.0)).await.expect("west");
    let east = client.spawn(ball(3.0, 60.0, 3.0)).await.expect("east");
    assert!(west.0 >> 63 == 1 && west != east);
    until(2.0, "both are shown", || {
        let shown: BTreeSet<BodyId> = client.bodies().into_iter().map(|(id, _)| id).collect();
        shown.contains(&west) && shown.contains(&east)
    })
    .await;
    let owner = |body| client.look(|scene| scene.body(body).map(|known| known.owner));
    assert_ne!(owner(west), owner(east), "two regions");
    for struck in [west, east] {
        // They fall: the box is as large as it needs to be.
        let shape = Shape::Cuboid {
            size: Vec3::new(9.0, 30.0, 3.0),
        };
        let middle = (pose(&client, west) + pose(&client, east)) / 2.0 - DVec3::Y * 8.0;
        let near = client.overlap(shape, middle, Quat::IDENTITY).await;
        assert_eq!(near.expect("answered"), [west, east]);
        let above = pose(&client, struck) + DVec3::Y * 10.0;
        let hit = client.ray(above, Vec3::NEG_Y, 40.0).await;
        let hit = hit.expect("answered").expect("hits");
        assert_eq!(hit.struck, Struck::Body(struck));
    }
    client.impulse(west, Vec3::X * 400.0).await.expect("pushed");
    client.remove(east).await.expect("removed");
    let gone =
        |event: &Event| matches!(event, Event::Left { body, removed: true } if *body == east);
    wait_for(&mut client, 2.0, "it goes", gone).await;
    assert!(matches!(
        client.remove(east).await,
        Err(ClientError::NotFound)
    ));
    // The pushed one crosses the border and stays one body.
    let crossed = |event: &Event| match event {
        Event::Left { body, .. } => panic!("{body} is gone"),
        Event::Owner { body, .. } => *body == west,
        _ => false,
    };
    wait_for(&mut client, 4.0, "it crosses", crossed).await;
    live.stop().await;
}

fn pose(client: &client::Client, body: BodyId) -> DVec3 {
    let found = client.bodies().into_iter().find(|(id, _)| *id == body);
    found.expect("in sight").1.position
}

#[tokio::test(flavor = "multi_thread")]
async fn an_area_of_interest_shows_what_is_in_it() {
    let live = Live::scene("avalanche", 4).await;
    let everything = live.client().await;
    until(5.0, "all in sight", || in_sight(&everything).len() > 1500).await;
    let corner = everything.look(|scene| {
        let extent = scene.world().expect("known").extent;
        let [width, depth] = extent.size();
        Rect {
            min: extent.min,
            max: [extent.min[0] + width / 4.0, extent.min[1] + depth / 2.0],
        }
    });
    let options = Options {
        area: Area::Rect(corner),
        ..Options::default()
    };
    let client = live.client_with(options).await;
    until(3.0, "the corner in sight", || !in_sight(&client).is_empty()).await;
    until(3.0, "all that is in the area is in sight", || {
        let seen = in_sight(&client);
        // Well inside: bodies move while we look.
        let inner = corner.grown(-1.0);
        let bodies = everything.bodies().into_iter();
        let mut inside = bodies.filter(|(_, pose)| inner.holds(pose.position.x, pose.position.z));
        inside.all(|(id, _)| seen.contains(&id))
    })
    .await;
    assert!(in_sight(&client).len() < in_sight(&everything).len());
    let (few, many) = (client.traffic(), everything.traffic());
    assert!(few.bytes < many.bytes);
    client.subscribe(Area::Everything).await.expect("connected");
    until(3.0, "everything in sight", || {
        in_sight(&client) == in_sight(&everything)
    })
    .await;
    client.subscribe(Area::Nothing).await.expect("connected");
    until(3.0, "nothing in sight", || in_sight(&client).is_empty()).await;
    live.stop().await;
}

// AP-44, AP-45, AP-46: connections stay.
#[tokio::test(flavor = "multi_thread")]
async fn the_world_can_be_reset_switched_and_cut_anew_while_clients_stay() {
    let live = Live::scene("orbit", 4).await;
    let client = live.client().await;
    let mut other = live.client().await;
    let orbit = start_bodies(&world("orbit", 4));
    until(3.0, "all in sight", || in_sight(&client) == orbit).await;
    let extra = client.spawn(ball(1.0, 30.0, 1.0)).await.expect("spawned");
    until(2.0, "one more", || in_sight(&client).contains(&extra)).await;

    assert_eq!(client.reset().await.expect("reset"), 2);
    let anew = |event: &Event| *event == Event::World { generation: 2 };
    wait_for(&mut other, 5.0, "another world", anew).await;
    until(5.0, "as at the start", || in_sight(&other) == orbit).await;

    let islands = SceneChoice::BuiltIn("islands".to_owned());
    assert_eq!(client.switch_scene(islands).await.expect("switched"), 3);
    let bodies = start_bodies(&world("islands", 4));
    until(5.0, "the other scene", || in_sight(&other) == bodies).await;
    let name = other.look(|scene| scene.world().map(|world| world.name.clone()));
    assert_ne!(name.as_deref(), Some("orbit"));

    let plan = RegionPlan::Layout {
        layout: Layout::Columns,
        count: 2,
    };
    assert_eq!(client.define_regions(plan).await.expect("cut"), 4);
    until(5.0, "two regions", || {
        other.look(|scene| scene.world().is_some_and(|world| world.regions.len() == 2))
            && in_sight(&other) == bodies
    })
    .await;

    let injection = Injection {
        min: DVec3::new(-5.0, 30.0, -5.0),
        max: DVec3::new(5.0, 40.0, 5.0),
        rate: 40.0,
        secs: 0.5,
        velocity_min: Vec3::NEG_ONE,
        velocity_max: Vec3::ONE,
        shapes: vec![Shape::Sphere { radius: 0.3 }],
    };
    client.inject(injection).await.expect("begins");
    let most = bodies.len() + 20;
    until(4.0, "twenty more", || in_sight(&other).len() == most).await;
    let bad = client.switch_scene(SceneChoice::BuiltIn("nowhere".to_owned()));
    assert!(matches!(bad.await, Err(ClientError::Refused(_))));
    live.stop().await;
}

/// A server leaves in good order, another takes over: clients see nothing of it but the change of name.
#[tokio::test(flavor = "multi_thread")]
async fn regions_move_while_clients_look_on() {
    let mut live = Live::scene("orbit", 4).await;
    let mut client = live.client().await;
    let all = start_bodies(&world("orbit", 4));
    until(3.0, "all in sight", || in_sight(&client) == all).await;
    until(3.0, "it runs", || client.look(|scene| scene.frame()) > 60).await;
    client.take_events();
    let spawned = client.spawn(ball(2.0, 40.0, 2.0)).await.expect("spawned");
    live.servers.remove(0).leave().await;
    let servers = |client: &client::Client| -> BTreeSet<String> {
        client.look(|scene| {
            let world = scene.world().expect("known");
            world.regions.iter().map(|r| r.server.clone()).collect()
        })
    };
    until(5.0, "all are with the other three", || {
        servers(&client).len() == 3
    })
    .await;
    let frame = client.look(|scene| scene.frame());
    until(3.0, "and it goes on", || {
        client.look(|scene| scene.frame()) > frame + 30
    })
    .await;
    let mut expected = all.clone();
    expected.insert(spawned);
    assert_eq!(in_sight(&client), expected);
    for event in client.take_events() {
        if let Event::Left { body, .. } = event {
            panic!("{body} flickered");
        }
    }
    client.remove(spawned).await.expect("its region answers");
    live.stop().await;
}

// AP-41, AP-42: scenery of a client's own stands on all servers, and for those who come later.
#[tokio::test(flavor = "multi_thread")]
async fn scenery_that_a_client_puts_up_stands_on_all_servers() {
    let live = Live::scene("orbit", 4).await;
    let client = live.client().await;
    until(3.0, "it runs", || client.look(|scene| scene.frame()) > 10).await;
    let before = client.look(|scene| scene.statics().count());
    // A table high above the corner where four regions meet.
    let table = StaticPiece {
        shape: Shape::Cuboid {
            size: Vec3::new(20.0, 1.0, 20.0),
        },
        material: domain::Material::default(),
        position: DVec3::Y * 60.0,
        rotation: Quat::IDENTITY,
    };
    let id = client.put_up(table).await.expect("put up");
    for (x, z) in [(-8.0, -8.0), (8.0, -8.0), (-8.0, 8.0), (8.0, 8.0)] {
        let above = DVec3::new(x, 70.0, z);
        strikes(&client, above, Vec3::NEG_Y, Struck::Static(id)).await;
    }
    until(2.0, "everyone is told", || {
        client.look(|scene| scene.statics().count()) == before + 1
    })
    .await;
    // A ray that begins in one region and strikes a body of another.
    let resting = client.spawn(ball(7.0, 60.95, -7.0)).await;
    let resting = resting.expect("spawned");
    let from = DVec3::new(-7.0, 60.9, -7.0);
    let distance = strikes(&client, from, Vec3::X, Struck::Body(resting)).await;
    assert!((distance - 13.6).abs() < 0.1, "{distance}");
    // A sail of triangles, sagging above the corner: a mesh stands as well as a box.
    let corner = |x: f32, z: f32| Vec3::new(x, 1.0, z);
    let sail = StaticPiece {
        shape: Shape::Mesh {
            vertices: vec![
                Vec3::ZERO,
                corner(-9.0, -9.0),
                corner(9.0, -9.0),
                corner(9.0, 9.0),
                corner(-9.0, 9.0),
            ]
            .into(),
            triangles: vec![[0, 2, 1], [0, 3, 2], [0, 4, 3], [0, 1, 4]].into(),
        },
        material: domain::Material::default(),
        position: DVec3::Y * 80.0,
        rotation: Quat::IDENTITY,
    };
    let sail = client.put_up(sail).await.expect("put up");
    for (x, z) in [(-4.0, -4.0), (4.0, -4.0), (-4.0, 4.0), (4.0, 4.0)] {
        let above = DVec3::new(x, 90.0, z);
        strikes(&client, above, Vec3::NEG_Y, Struck::Static(sail)).await;
    }
    let caught = client.spawn(ball(4.0, 82.0, 4.0)).await.expect("spawned");
    // A ball that rolls over all borders stays on the table.
    let mut rolling = ball(-8.0, 61.5, -7.0);
    rolling.velocity = Vec3::new(6.0, 0.0, 5.0);
    let ball = client.spawn(rolling).await.expect("spawned");
    until(3.0, "it is shown", || in_sight(&client).contains(&ball)).await;
    until(3.0, "it has rolled over both borders", || {
        let place = pose(&client, ball);
        assert!(place.y > 60.0, "{place}");
        place.x > 0.0 && place.z > 0.0
    })
    .await;
    let late = live.client().await;
    until(2.0, "a late joiner sees it", || {
        late.look(|scene| scene.statics().count()) == before + 2
    })
    .await;
    until(2.0, "and the ball", || in_sight(&late).contains(&ball)).await;
    let place = pose(&client, caught);
    assert!(place.y > 80.0, "in the sail: {place}");
    live.stop().await;
}

/// An octahedron of eight triangles.
fn octahedron(radius: f32) -> Shape {
    let axes = [Vec3::X, Vec3::Y, Vec3::Z];
    let corners = axes.into_iter().flat_map(|axis| [axis, -axis]);
    Shape::Mesh {
        vertices: corners.map(|corner| corner * radius).collect(),
        triangles: vec![
            [0, 2, 4],
            [2, 1, 4],
            [1, 3, 4],
            [3, 0, 4],
            [2, 0, 5],
            [1, 2, 5],
            [3, 1, 5],
            [0, 3, 5],
        ]
        .into(),
    }
}

// AP-41: a body of triangles is spawned, shown with its shape, struck, caught by scenery and carried over a border like any other.
#[tokio::test(flavor = "multi_thread")]
async fn a_mesh_body_is_spawned_through_a_gateway_and_behaves() {
    let live = Live::scene("orbit", 4).await;
    let mut client = live.client().await;
    until(3.0, "it runs", || client.look(|scene| scene.frame()) > 10).await;
    let table = StaticPiece {
        shape: Shape::Cuboid {
            size: Vec3::new(30.0, 1.0, 30.0),
        },
        material: domain::Material::default(),
        position: DVec3::Y * 60.0,
        rotation: Quat::IDENTITY,
    };
    client.put_up(table).await.expect("put up");
    let shape = octahedron(0.6);
    let spawn = Spawn {
        velocity: Vec3::X * 6.0,
        ..Spawn::new(shape.clone(), DVec3::new(-4.0, 61.5, 5.0))
    };
    let body = client.spawn(spawn).await.expect("a mesh is a body");
    let late = live.client().await;
    for client in [&client, &late] {
        until(3.0, "everyone sees it with its shape", || {
            client.look(|scene| scene.shape(body) == Some(&shape))
        })
        .await;
    }
    let crosses = |event: &Event| matches!(event, Event::Owner { body: it, .. } if *it == body);
    client.impulse(body, Vec3::X * 500.0).await.expect("pushed");
    wait_for(&mut client, 5.0, "it slides over the border", crosses).await;
    let place = pose(&client, body);
    assert!(place.y > 60.4, "on the table: {place}");
    client
        .set_velocity(body, Vec3::ZERO)
        .await
        .expect("stopped");
    let above = pose(&client, body) + DVec3::Y * 5.0;
    let hit = client.ray(above, Vec3::NEG_Y, 20.0).await;
    assert!(hit.expect("answered").is_some());
    client.remove(body).await.expect("removed");
    live.stop().await;
}
