//! Whole runs. One binary, so that they are linked once and run side by side.

mod ack_hold;
mod air;
mod airtime;
mod backhaul_faults;
mod backup;
mod blockage;
mod bunch;
mod common;
mod flapping;
mod multifacet;
mod processor;
mod proxy;
mod returned;
mod rivals;
mod roaming;
mod rule;
mod scenarios;
mod sixty;
mod standstill;
mod startup;
mod steering;
mod traces;
