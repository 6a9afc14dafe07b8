//! The package for OpenWrt and what is made for routers, with stubs of what a router has.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A test's directory; it goes with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let dir = std::env::temp_dir().join(format!("ropewalk-openwrt-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Place(dir)
    }

    fn of(&self, file: &str) -> String {
        self.0.join(file).display().to_string()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn packaging(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(file)
}

/// Writes a shell script.
fn program(file: &str, lines: &str) {
    std::fs::write(file, format!("#!/bin/sh\n{lines}\n")).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_init_script_makes_files_that_the_program_takes() {
    let check = packaging("openwrt/check");
    // A router's shell is busybox's.
    let busybox = Command::new("busybox").arg("true").output().is_ok();
    let shells: &[&[&str]] = if busybox { &[&["sh"], &["busybox", "sh"]] } else { &[&["sh"]] };
    for shell in shells {
        let said = Command::new(&check).arg(env!("CARGO_BIN_EXE_ropewalk")).args(*shell).output().unwrap();
        assert!(said.status.success(), "{shell:?}: {}", String::from_utf8_lossy(&said.stderr));
    }
}

/// What a package does when it is installed, on a router and into an image.
#[test]
fn a_package_shows_its_page_at_once() {
    let at = Place::new("package");
    let (place, said) = (at.of(""), at.of("said"));
    let mut build = Command::new(packaging("openwrt/build"));
    build.args(["/bin/true", "all", "0", &place]).env("SOURCE_DATE_EPOCH", "0");
    assert!(build.status().unwrap().success());
    let line = "cd \"$1\" && mkdir lib bin && tar -xzOf *.ipk ./control.tar.gz | tar -xz ./postinst";
    assert!(Command::new("sh").args(["-c", line, "sh", &place]).status().unwrap().success());
    let functions = at.of("lib/functions.sh");
    let default = format!("default_postinst() {{ echo installed >>{said}; return 3; }}\n");
    std::fs::write(functions, default).unwrap();
    program(&at.of("bin/killall"), &format!("echo \"$@\" >>{said}; exit 1"));
    // OpenWrt's functions and LuCI's caches are in that directory, not in this machine's.
    let postinst = std::fs::read_to_string(at.of("postinst")).unwrap();
    let here = postinst.replace("}/lib/", &format!("}}{place}/lib/"));
    let here = here.replace("/tmp/luci", &at.of("luci"));
    let install = |script: &str, image: &str| {
        let path = format!("{}:{}", at.of("bin"), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).env("PATH", path).env("IPKG_INSTROOT", image);
        let code = shell.status().unwrap().code();
        let heard = std::fs::read_to_string(&said).unwrap();
        std::fs::remove_file(&said).unwrap();
        (code, heard)
    };
    std::fs::write(at.of("luci-indexcache.1.json"), "").unwrap();
    std::fs::create_dir(at.of("luci-modulecache")).unwrap();
    assert_eq!(install(&postinst, &place), (Some(3), "installed\n".to_owned()), "into an image");
    assert_eq!(install(&here, ""), (Some(3), "installed\n-HUP rpcd\n".to_owned()), "on a router");
    let caches = ["luci-indexcache.1.json", "luci-modulecache"].map(|c| Path::new(&at.of(c)).exists());
    assert_eq!(caches, [false; 2], "LuCI reads its menu anew");
}

/// The example of a hook, with stubs of what a router has.
#[test]
fn the_router_s_hook_calls_things_what_the_router_calls_them() {
    let at = Place::new("router");
    let said = at.of("said");
    std::fs::create_dir(at.of("bin")).unwrap();
    for (name, lines) in [
        ("mwan3", format!("echo mwan3 \"$@\" >>{said}")),
        ("vtysh", format!("echo \"$4\" >>{said}; case $4 in no*) exit 1 ;; esac")),
        ("ubus", "[ \"$*\" = 'call network.interface dump' ] && echo '{}'".to_owned()),
        ("jsonfilter", "cat >&2; case $* in *eth1*) echo wan6; echo wan; echo wan ;; esac".to_owned()),
    ] {
        program(&at.of(&format!("bin/{name}")), &lines);
    }
    let tell = |event: &str, about: [(&str, &str); 2]| {
        let path = format!("{}:{}", at.of("bin"), std::env::var("PATH").unwrap());
        let mut hook = Command::new(packaging("hooks/router"));
        hook.env("PATH", path).env("ROPEWALK_EVENT", event).envs(about);
        let out = hook.output().unwrap();
        assert!(out.status.success(), "{event}: {}", String::from_utf8_lossy(&out.stderr));
        let heard = std::fs::read_to_string(&said).unwrap();
        std::fs::remove_file(&said).unwrap();
        heard
    };
    let bond = ("ROPEWALK_DEVICE", "rw0");
    let path = [bond, ("ROPEWALK_INTERFACE", "eth1")];
    assert_eq!(tell("path-down", path), "mwan3 ifdown wan\nmwan3 ifdown wan6\n", "not by the device's name");
    assert_eq!(tell("path-up", path), "mwan3 ifup wan\nmwan3 ifup wan6\n");
    let inside = |all| [bond, ("ROPEWALK_ADDRESSES", all)];
    let four = "mwan3 ifup rw0\nip route 0.0.0.0/0 rw0 200\n";
    assert_eq!(tell("connected", inside("10.77.0.2/24")), four);
    let six = format!("{four}ipv6 route ::/0 rw0 200\n");
    assert_eq!(tell("connected", inside("10.77.0.2/24 fd77::2/64")), six);
    let ended = "mwan3 ifdown rw0\nno ip route 0.0.0.0/0 rw0 200\nno ipv6 route ::/0 rw0 200\n";
    assert_eq!(tell("disconnected", inside("")), ended, "FRR need not have had them");
}
