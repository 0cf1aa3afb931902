mod common;
use common::*;
use domain::BodyId;
use glam::DVec3;
#[test]
fn series() {
    let ids: Vec<BodyId> = (1..=10).map(BodyId).collect();
    for sleeping in [true,false] { for every in [1usize, 2, 10] {
    let mut here = world_at(DVec3::ZERO);
    let mut there = world_at(DVec3::ZERO);
    let mut reference = world_at(DVec3::ZERO);
    for w in [&mut here,&mut there,&mut reference] { w.set_sleeping(sleeping); }
    spawn_all(&mut here, &stack(10, DVec3::new(3.0, 0.0, -2.0)));
    spawn_all(&mut reference, &stack(10, DVec3::new(3.0, 0.0, -2.0)));
    println!("== sleeping {sleeping} every {every}");
    for tick in 1..=600usize {
        here.step(); there.step(); reference.step();
        if tick % every == 0 {
            let c = here.extract(&ids); there.insert(&c).unwrap(); std::mem::swap(&mut here, &mut there);
        }
        if tick<=10 || (tick <= 100 && tick%10==0) || tick%50==0 {
            let m = here.motion(BodyId(10)).unwrap(); let r = reference.motion(BodyId(10)).unwrap();
            println!("{tick}: apart {:.2} top moved ({:.2},{:.2},{:.2}) ref ({:.2},{:.2},{:.2}) mm vel {:.4} awake {} ref awake {}", apart(&here,&reference)*1e3, (m.position.x-3.0)*1e3,(m.position.y-9.5)*1e3,(m.position.z+2.0)*1e3,(r.position.x-3.0)*1e3,(r.position.y-9.5)*1e3,(r.position.z+2.0)*1e3, m.linear_velocity.length(), here.awake_count(), reference.awake_count());
        }
    }}}
}
