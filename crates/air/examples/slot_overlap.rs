//! Prints the table of the slot-overlap model: how much of three channels hopping clients use.
//! `cargo run --release -p ropewalk-air --example slot_overlap`

use core::time::Duration;

use ropewalk_air::wifi::slot_overlap::SlotOverlap;

fn main() {
    println!("clients  used of 66 Mb/s  random phases  of what the clients could have");
    for clients in 1..=8u32 {
        let seeds = 16;
        let hour = Duration::from_secs(3_600);
        let used =
            (0..seeds).map(|seed| SlotOverlap::paper(clients).used(hour, seed)).sum::<f64>() / seeds as f64;
        let random = 1.0 - (2.0f64 / 3.0).powi(clients as i32);
        let share = used * 3.0 / f64::from(clients.min(3));
        println!("{clients:7}  {:14.1}%  {:12.1}%  {:29.1}%", 100.0 * used, 100.0 * random, 100.0 * share);
    }
}
