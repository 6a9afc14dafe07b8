//! What this machine's kernel can do for TCP and MPTCP.

use std::fs;

use ropewalk_scenario::file::TcpControl;

/// What the kernel can do.
#[derive(Clone, Debug, Default)]
pub(super) struct Kernel {
    /// Congestion controls, by its own names.
    pub controls: Vec<String>,
    /// Those that a namespace may take for its default.
    pub allowed: Vec<String>,
    /// It has MPTCP.
    pub mptcp: bool,
}

impl Kernel {
    /// The running one.
    pub(super) fn present() -> Kernel {
        let words = |key: &str| {
            let text = fs::read_to_string(format!("/proc/sys/net/ipv4/{key}")).unwrap_or_default();
            text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        Kernel {
            controls: words("tcp_available_congestion_control"),
            allowed: words("tcp_allowed_congestion_control"),
            mptcp: fs::exists("/proc/sys/net/mptcp/enabled").unwrap_or(false),
        }
    }

    /// What is wrong with a congestion control that a scenario asks for; none if the kernel has it.
    pub(super) fn refuses(&self, control: TcpControl) -> Option<String> {
        match kernel_name(control) {
            None if control == TcpControl::Tidal => Some(
                "Linux has no tidal, so it runs in the simulator alone; in the lab take \"cubic\"".into(),
            ),
            None => Some(format!("Linux has no {}; in the lab take \"cubic\"", control.name())),
            Some(name) if !self.has(name) && name.starts_with(OURS) => Some(format!(
                "this kernel has no {name}; load it as root with `ropewalk mptcp cc load {}`, or take \"cubic\"",
                control.name()
            )),
            Some(name) if !self.has(name) => Some(format!(
                "this kernel has no {name}, only {}; load it (modprobe tcp_{name}), or take another",
                self.controls.join(", ")
            )),
            Some(_) => None,
        }
    }

    /// Whether it has a congestion control of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.controls.iter().any(|c| c == name)
    }
}

/// What names of controllers begin with that `ropewalk mptcp cc load` puts into the kernel.
const OURS: &str = "rw_";

/// The kernel's name of a congestion control; none for those that it has not.
pub(super) fn kernel_name(control: TcpControl) -> Option<&'static str> {
    match control {
        TcpControl::Cubic => Some("cubic"),
        TcpControl::NewReno => Some("reno"),
        TcpControl::HighSpeed => Some("highspeed"),
        // Upstream Linux couples no subflows (trap T-15): these are crate `kern`'s.
        TcpControl::Lia => Some("rw_lia"),
        TcpControl::Olia => Some("rw_olia"),
        TcpControl::Balia => Some("rw_balia"),
        // The bond's own.
        TcpControl::Tidal => None,
    }
}
