# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ropewalk_global_optspecs
    string join \n h/help V/version
end

function __fish_ropewalk_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ropewalk_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ropewalk_using_subcommand
    set -l cmd (__fish_ropewalk_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ropewalk -n "__fish_ropewalk_needs_command" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -s V -l version -d 'Print version'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "serve" -d 'Run a gateway: the end that clients reach'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "invite" -d 'Make a token that lets one device in, and print it'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "up" -d 'Connect this machine to a gateway over every link it has'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "ap" -d 'Run the access point of a repeater with two radios'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "repeater" -d 'Run a repeater with two radios'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "roam" -d 'Be a station of several access points at once'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "status" -d 'Say how the running bond does'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "top" -d 'Watch the running bond'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "web" -d 'Serve a page that shows the running bond, and changes it'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "path" -d 'Change the paths of the running bond'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "link" -d 'Say how long interfaces\' queues are, what became of packets, and how radios hear their neighbours'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "bunch" -d 'Upload over the neighbours\' uplinks, too'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "pep" -d 'Help TCP connections that this router forwards: split them, or repair loss behind it'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "revoke" -d 'Let a device in no more, and end its session'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "restore" -d 'Take back what a daemon that was killed, or failed under a kill switch, left on this machine: routes, firewall, settings'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "sim" -d 'Simulate a scenario: radios, links, TCP and bonds in virtual time'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "compare" -d 'Put two reports of a scenario side by side, and say whether they agree'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "probe" -d 'Measure a path: what limits it, what to set, and what that would give'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "reproduce" -d 'Run the scenarios of a paper and write what it reported beside what came out'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "lab" -d 'Make a scenario live: network namespaces whose radios and cables are models'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "mptcp" -d 'Coupled congestion control for the kernel\'s own MPTCP'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "check" -d 'Check a configuration file'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "completions" -d 'Print the completions for a shell'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "man" -d 'Write the manual pages into a directory'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "reference" -d 'Write the reference pages into a directory'
complete -c ropewalk -n "__fish_ropewalk_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l config -d 'Read settings from this TOML file; the command line goes before it' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l tun -d 'Name of the network device [default: the first free of rw0, rw1, …]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l log-format -d 'How log lines look' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l metrics -d 'Serve metrics for Prometheus by HTTP at this address' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l listen -d 'UDP address to listen on; give it again for more [default: 0.0.0.0:4500 and, with IPv6, [::]:4500]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l address -d 'The gateway\'s address inside the bond, with the network that clients get theirs from; once for IPv4, once for IPv6 [default: 10.77.0.1/24]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l masquerade -d 'Let clients reach the internet through this machine (nftables and forwarding)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -l client-to-client -d 'Let clients reach each other through the bond'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand invite" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand invite" -l endpoint -d 'Where the device reaches the gateway; give it again for more [default: the addresses that it listens on]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand invite" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l token-file -d 'Read the token from this file' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l config -d 'Read settings from this TOML file; the command line goes before it' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l tun -d 'Name of the network device [default: the first free of rw0, rw1, …]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l log-format -d 'How log lines look' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l metrics -d 'Serve metrics for Prometheus by HTTP at this address' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l path -d 'Use this interface, to this endpoint if one is given; give it again for more [default: every usable interface]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l route -d 'Send this network through the bond; 0.0.0.0/0 and ::/0 are everything' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l dns -d 'Ask this name server, through the bond' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l timeout -d 'Give up if there is no connection after this long' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -l kill-switch -d 'Let nothing leave this machine but through the bond, until the client is told to stop; with --route 0.0.0.0/0. `ropewalk restore` takes it back where the client was killed'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand up" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -l config -d 'Read settings from this TOML file; the command line goes before it' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -l state -d 'Directory for keys and state; made if it is not there [default: the file\'s `state`]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -l log-format -d 'How log lines look' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -l metrics -d 'Serve metrics for Prometheus by HTTP at this address' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -f -a "invite" -d 'Make a token that lets one repeater in, and print it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and not __fish_seen_subcommand_from invite help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and __fish_seen_subcommand_from invite" -l config -d 'The access point\'s file' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and __fish_seen_subcommand_from invite" -l state -d 'Directory for keys and state [default: the file\'s `state`]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and __fish_seen_subcommand_from invite" -l endpoint -d 'Where the repeater reaches the access point; give it again for more [default: the addresses of its radios\' interfaces]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and __fish_seen_subcommand_from invite" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and __fish_seen_subcommand_from help" -f -a "invite" -d 'Make a token that lets one repeater in, and print it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand ap; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l token-file -d 'Read the token from this file' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l config -d 'Read settings from this TOML file; the command line goes before it' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l state -d 'Directory for keys and state; made if it is not there [default: the file\'s `state`]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l log-format -d 'How log lines look' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l metrics -d 'Serve metrics for Prometheus by HTTP at this address' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l lan -d 'The clients are on this cable: no radio is shared with them, nothing is limited' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -l timeout -d 'Give up if there is no connection after this long' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand repeater" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status help" -l config -d 'Read settings from this TOML file, section [roam]; the command line goes before it' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status help" -l radio -d 'The radio, as `iw list` names it [default: the only one]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status help" -l interface -d 'A station interface of the radio, to listen with [default: its first]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status help" -l networks -d 'wpa_supplicant\'s file with the networks to join [default: /etc/wpa_supplicant/wpa_supplicant-IFACE.conf, or wpa_supplicant.conf there]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status help" -l state -d 'Directory for what is noted to be taken back [default: /run/ropewalk/roam]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status help" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status help" -l log-format -d 'How log lines look' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status help" -f -a "scan" -d 'Listen, and print what would be joined and why'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status help" -f -a "status" -d 'Say how the running `ropewalk roam` does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and not __fish_seen_subcommand_from scan status help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l config -d 'Read settings from this TOML file, section [roam]; the command line goes before it' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l radio -d 'The radio, as `iw list` names it [default: the only one]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l interface -d 'A station interface of the radio, to listen with [default: its first]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l networks -d 'wpa_supplicant\'s file with the networks to join [default: /etc/wpa_supplicant/wpa_supplicant-IFACE.conf, or wpa_supplicant.conf there]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l state -d 'Directory for what is noted to be taken back [default: /run/ropewalk/roam]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l log-format -d 'How log lines look' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from scan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from status" -l state -d 'Directory that it was started with [default: /run/ropewalk/roam]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from status" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from help" -f -a "scan" -d 'Listen, and print what would be joined and why'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from help" -f -a "status" -d 'Say how the running `ropewalk roam` does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand roam; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand status" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand status" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand status" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand top" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand top" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand web" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand web" -l listen -d 'Address of the page, on this machine only' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand web" -l socket -d 'Serve the page at this unix socket instead, which only this user can open' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand web" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and not __fish_seen_subcommand_from add remove set help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and not __fish_seen_subcommand_from add remove set help" -f -a "add" -d 'Use another interface, or another endpoint by an interface'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and not __fish_seen_subcommand_from add remove set help" -f -a "remove" -d 'Use an interface no more, until the daemon starts again'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and not __fish_seen_subcommand_from add remove set help" -f -a "set" -d 'Say what a path may be used for; it is remembered'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and not __fish_seen_subcommand_from add remove set help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from add" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from add" -l class -d 'active: always used; backup: while no other works; metered: until its cap is used up' -r -f -a "active\t'Always'
backup\t'While no other path works'
metered\t'Until its allowance is used up'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from add" -l cap -d 'What a metered path may carry in a month, both directions together, such as 10GB' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from add" -l reset-day -d 'The day of the month on which a new allowance begins' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from add" -l weight -d 'Its share under the weighted scheduler' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from remove" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from set" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from set" -l class -d 'active: always used; backup: while no other works; metered: until its cap is used up' -r -f -a "active\t'Always'
backup\t'While no other path works'
metered\t'Until its allowance is used up'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from set" -l cap -d 'What a metered path may carry in a month, both directions together, such as 10GB' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from set" -l reset-day -d 'The day of the month on which a new allowance begins' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from set" -l weight -d 'Its share under the weighted scheduler' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from help" -f -a "add" -d 'Use another interface, or another endpoint by an interface'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Use an interface no more, until the daemon starts again'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from help" -f -a "set" -d 'Say what a path may be used for; it is remembered'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand path; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand link" -l json -d 'Print JSON: one line, and with --watch one each second'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand link" -l watch -d 'Go on until Ctrl-C'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand link" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status revoke help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status revoke help" -f -a "gateway" -d 'Run a gateway: it puts uploads together and hands them to receivers'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status revoke help" -f -a "invite" -d 'Make a token that lets one access point in, and print it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status revoke help" -f -a "ap" -d 'Run an access point: it helps the uploads of its home, of its neighbours, or both'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status revoke help" -f -a "status" -d 'Say how the running gateway or access point does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status revoke help" -f -a "revoke" -d 'Let an access point in no more, and end its tunnel'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and not __fish_seen_subcommand_from gateway invite ap status revoke help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l listen -d 'TCP address at which access points find it' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l deliver -d 'Uploads leave by this interface only [default: as routes lead]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l serve -d 'Help uploads to this network; give it again for more [default: 0.0.0.0/0, which is all but private networks]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l address -d 'The gateway\'s address among its access points, with the network that their senders get addresses from' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l tun -d 'Name of the network device [default: the first free of bunch0, bunch1, …]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l variant -d 'What is done for TCP' -r -f -a "plain\t'Nothing: packets go on as they come'
simple-buffer\t'They go on in order'
proactive-ack\t'They are acknowledged in the receiver\'s name when they are safe'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l custody -d 'proactive-ack: how many holders are enough where the home access point is not one' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l scheduling -d 'Who forwards a packet' -r -f -a "first-come\t'The first that reports it and whose send buffer has room'
expected-delivery\t'The one by which it is expected first'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l grace -d 'Acknowledged bytes that nobody has reset both ends after so many milliseconds' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l log-format -d 'How log lines look' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -l udp -d 'Help UDP, too'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from gateway" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from invite" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from invite" -l endpoint -d 'Where the device reaches the gateway; give it again for more [default: the addresses that it listens on]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from invite" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l token-file -d 'Read the token from this file' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l uplink -d 'Reach the gateway by this interface only [default: as routes lead]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l uplink-rate -d 'What the uplink carries, Mbit/s: the home\'s own traffic then goes before the tunnel\'s, which keeps half a megabit (HTB); with --uplink' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l home -d 'Help the uploads of devices at this interface' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l share -d 'The network of the neighbours: hand them the home\'s packets, and help with theirs' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l miss -d 'For experiments: leave out so many of 100 packets that a neighbour would be handed' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l tun -d 'Name of the network device [default: the first free of bunch0, bunch1, …]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l memory -d 'Most bytes of packets to hold' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l send-buffer -d 'Most bytes on the way to the gateway' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l report-interval -d 'Milliseconds between reports' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -l log-format -d 'How log lines look' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from ap" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from status" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from status" -l json -d 'Print JSON: one line, and with --watch one each second'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from status" -l watch -d 'Go on until Ctrl-C'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from revoke" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "gateway" -d 'Run a gateway: it puts uploads together and hands them to receivers'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "invite" -d 'Make a token that lets one access point in, and print it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "ap" -d 'Run an access point: it helps the uploads of its home, of its neighbours, or both'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "status" -d 'Say how the running gateway or access point does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "revoke" -d 'Let an access point in no more, and end its tunnel'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand bunch; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep" -l policy -d 'What to do for connections' -r -f -a "split\t'Acknowledge in the receiver\'s name what is here: two connections with a shorter round trip each'
snoop\t'Acknowledge nothing, and send again what is lost behind this machine'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep" -l window -d 'Most kilobytes (1024 bytes) to keep of each direction of a connection' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep" -l connections -d 'Most connections at once; what is too many passes as it came' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep" -l tun -d 'Name of the network device [default: the first free of pep0, pep1, …]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep" -l log -d 'What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep" -l log-format -d 'How log lines look' -r -f -a "text\t'For people'
json\t'One JSON object per line'"
complete -c ropewalk -n "__fish_ropewalk_using_subcommand pep" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand revoke" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand revoke" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand restore" -l state -d 'Directory for keys and state; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand restore" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and not __fish_seen_subcommand_from run sweep check help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and not __fish_seen_subcommand_from run sweep check help" -f -a "run" -d 'Run a scenario once and print what every flow and station got'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and not __fish_seen_subcommand_from run sweep check help" -f -a "sweep" -d 'Run a scenario at every point of its sweep, on all cores'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and not __fish_seen_subcommand_from run sweep check help" -f -a "check" -d 'Check scenario files, and say how many runs their sweeps have'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and not __fish_seen_subcommand_from run sweep check help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -l seed -d 'Seed of all chance, in place of the scenario\'s' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -l set -d 'Set a key of the scenario, dotted, `*` for all of a kind: medium.path-loss.exponent=2.5; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -l seeds -d 'Run it with so many seeds, from the scenario\'s or `--seed` on, and print the mean and standard error of each figure' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -l out -d 'Write report.json, a CSV file for each table, and charts into this directory; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -l pcap -d 'Write what an interface carries, or all that a radio hears, to NODE-NAME.pcap, in the output directory or here; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -l json -d 'Print the report as JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from sweep" -l seed -d 'Seed of all chance, in place of the scenario\'s' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from sweep" -l set -d 'Set a key of the scenario, dotted, `*` for all of a kind: medium.path-loss.exponent=2.5; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from sweep" -l jobs -d 'How many runs at once [default: one for each core]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from sweep" -l out -d 'Directory for results; made if it is not there [default: FILE without its ending, and -sweep]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from sweep" -l resume -d 'Keep what is finished in the directory, and run the rest'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from sweep" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run a scenario once and print what every flow and station got'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from help" -f -a "sweep" -d 'Run a scenario at every point of its sweep, on all cores'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check scenario files, and say how many runs their sweeps have'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand sim; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand compare" -l all -d 'Show also figures that no band is about'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand compare" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l listen -d 'Where to listen, TCP and UDP [default: 0.0.0.0:4510]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l key -d 'The key that both ends share [default with --serve: a new one, which is printed]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l key-file -d 'Read the key from this file' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l seconds -d 'How long each of the five tests takes, seconds' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l streams -d 'How many connections the tests with several have' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l window -d 'Give receivers of the tests a buffer of this size, such as 16KiB: what would a program with it get?' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l serve -d 'Be the other end: listen, and serve who knows the key'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -l json -d 'Print JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand probe" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l kernel -d 'With `--virtual`: where the machine\'s kernel is, a directory with boot/vmlinuz-* and lib/modules [default: VM_ROOT, or /]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l out -d 'Directory for the page and its charts; made if it is not there [default: docs/papers beside `scenarios`, or here]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l runs -d 'Directory for finished runs [default: reproduce-PAPER]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l sim -d 'Run the scenarios in the simulator (if neither is said, this)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l lab -d 'Run the scenarios in the live lab'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l both -d 'Run the scenarios in both'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l virtual -d 'Run the scenarios on a kernel in virtual time, too or alone, as `ropewalk lab run --virtual` does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l quick -d 'Shorter runs, as the paper\'s file says: rough figures'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l resume -d 'Keep what is finished, and run the rest'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -l check -d 'Run nothing: fail if the page that is there was made by another build or from other rows'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reproduce" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run check up down shell exec map set top radio capture machine help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run check up down shell exec map set top radio capture machine help" -f -a "run" -d 'Run a scenario\'s own flows and events in real time, and print what every flow and station got, as `sim run` does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run check up down shell exec map set top radio capture machine help" -f -a "check" -d 'Say which scenario files this machine can run live, and what keeps it from the others'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run check up down shell exec map set top radio capture machine help" -f -a "up" -d 'Make a scenario live and keep it up'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run check up down shell exec map set top radio capture machine help" -f -a "down" -d 'Take a lab down'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run check up down shell exec map set top radio capture machine help" -f -a "shell" -d 'Open a shell inside a node'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run check up down shell exec map set top radio capture machine help" -f -a "exec" -d 'Run a program inside a node'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run check up down shell exec map set top radio capture machine help" -f -a "map" -d 'Draw who is where and who hears whom'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run check up down shell exec map set top radio capture machine help" -f -a "set" -d 'Move a station, cut a link, change a radio, start an interferer'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run check up down shell exec map set top radio capture machine help" -f -a "top" -d 'Watch stations, radios, paths of bonds and links'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run check up down shell exec map set top radio capture machine help" -f -a "radio" -d 'Say what a node\'s radios say of themselves: queues, completions, stations, channel'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run check up down shell exec map set top radio capture machine help" -f -a "capture" -d 'Write what a radio hears as pcapng, or make a monitor interface of it, whoever it is for'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run check up down shell exec map set top radio capture machine help" -f -a "machine" -d 'The first process of a machine in virtual time'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and not __fish_seen_subcommand_from run check up down shell exec map set top radio capture machine help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -l seed -d 'Seed of all chance, in place of the scenario\'s' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -l set -d 'Set a key of the scenario, dotted, `*` for all of a kind: medium.path-loss.exponent=2.5; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -l out -d 'Write report.json, a CSV file for each table, and charts into this directory; made if it is not there' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -l kernel -d 'With `--virtual`: where the machine\'s kernel is, a directory with boot/vmlinuz-* and lib/modules [default: VM_ROOT, or /]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -l json -d 'Print the report as JSON'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -l strict -d 'Refuse a scenario that is too fast for this machine, instead of warning of it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -l virtual -d 'Run it in virtual time: in an emulated machine with a kernel of its own, which a busy host makes slower and not wrong; needs QEMU and no root'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from up" -l seed -d 'Seed of all chance, in place of the scenario\'s' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from up" -l set -d 'Set a key of the scenario, dotted, `*` for all of a kind: medium.path-loss.exponent=2.5; give it again for more' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from up" -l name -d 'What to call the lab [default: the file\'s name without its ending]' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from up" -l foreground -d 'Stay in the foreground until Ctrl-C'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from up" -l strict -d 'Refuse a scenario whose own flows are too fast for this machine, instead of warning of it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from up" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from down" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from down" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from shell" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from shell" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from exec" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from exec" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from map" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from map" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from set" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from top" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from top" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from radio" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from radio" -l json -d 'Print JSON: one line, and with --watch one each second'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from radio" -l watch -d 'Go on until Ctrl-C'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from radio" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from capture" -l lab -d 'The lab\'s name; not needed if only one is up' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from capture" -s w -l write -d 'The file [default: standard output, for `| wireshark -k -i -`]' -r -F
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from capture" -l device -d 'Instead of a file, a radiotap monitor interface of this name in the node, for `ropewalk lab exec NODE -- tcpdump -i NAME`; it is there until Ctrl-C, or until the lab ends' -r
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from capture" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from machine" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run a scenario\'s own flows and events in real time, and print what every flow and station got, as `sim run` does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "check" -d 'Say which scenario files this machine can run live, and what keeps it from the others'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "up" -d 'Make a scenario live and keep it up'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "down" -d 'Take a lab down'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "shell" -d 'Open a shell inside a node'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "exec" -d 'Run a program inside a node'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "map" -d 'Draw who is where and who hears whom'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "set" -d 'Move a station, cut a link, change a radio, start an interferer'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "top" -d 'Watch stations, radios, paths of bonds and links'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "radio" -d 'Say what a node\'s radios say of themselves: queues, completions, stations, channel'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "capture" -d 'Write what a radio hears as pcapng, or make a monitor interface of it, whoever it is for'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "machine" -d 'The first process of a machine in virtual time'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and not __fish_seen_subcommand_from cc help" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and not __fish_seen_subcommand_from cc help" -f -a "cc" -d 'Congestion controllers for the kernel: LIA, OLIA and BALIA, which couple subflows, and HighSpeed TCP'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and not __fish_seen_subcommand_from cc help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and __fish_seen_subcommand_from cc" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and __fish_seen_subcommand_from cc" -f -a "load" -d 'Load controllers into the kernel, where they stay until `unload` or a reboot'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and __fish_seen_subcommand_from cc" -f -a "status" -d 'Say which are loaded, and what they carry'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and __fish_seen_subcommand_from cc" -f -a "unload" -d 'Take controllers out of the kernel; connections on them go on until they are closed'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and __fish_seen_subcommand_from cc" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and __fish_seen_subcommand_from help" -f -a "cc" -d 'Congestion controllers for the kernel: LIA, OLIA and BALIA, which couple subflows, and HighSpeed TCP'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand mptcp; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand check" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand completions" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand man" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand reference" -s h -l help -d 'Print help'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "serve" -d 'Run a gateway: the end that clients reach'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "invite" -d 'Make a token that lets one device in, and print it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "up" -d 'Connect this machine to a gateway over every link it has'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "ap" -d 'Run the access point of a repeater with two radios'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "repeater" -d 'Run a repeater with two radios'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "roam" -d 'Be a station of several access points at once'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "status" -d 'Say how the running bond does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "top" -d 'Watch the running bond'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "web" -d 'Serve a page that shows the running bond, and changes it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "path" -d 'Change the paths of the running bond'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "link" -d 'Say how long interfaces\' queues are, what became of packets, and how radios hear their neighbours'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "pep" -d 'Help TCP connections that this router forwards: split them, or repair loss behind it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "revoke" -d 'Let a device in no more, and end its session'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "restore" -d 'Take back what a daemon that was killed, or failed under a kill switch, left on this machine: routes, firewall, settings'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "sim" -d 'Simulate a scenario: radios, links, TCP and bonds in virtual time'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "compare" -d 'Put two reports of a scenario side by side, and say whether they agree'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "probe" -d 'Measure a path: what limits it, what to set, and what that would give'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "reproduce" -d 'Run the scenarios of a paper and write what it reported beside what came out'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "lab" -d 'Make a scenario live: network namespaces whose radios and cables are models'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "mptcp" -d 'Coupled congestion control for the kernel\'s own MPTCP'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "check" -d 'Check a configuration file'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "completions" -d 'Print the completions for a shell'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "man" -d 'Write the manual pages into a directory'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "reference" -d 'Write the reference pages into a directory'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and not __fish_seen_subcommand_from serve invite up ap repeater roam status top web path link pep revoke restore sim compare probe reproduce lab mptcp check completions man reference help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from ap" -f -a "invite" -d 'Make a token that lets one repeater in, and print it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from roam" -f -a "scan" -d 'Listen, and print what would be joined and why'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from roam" -f -a "status" -d 'Say how the running `ropewalk roam` does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from path" -f -a "add" -d 'Use another interface, or another endpoint by an interface'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from path" -f -a "remove" -d 'Use an interface no more, until the daemon starts again'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from path" -f -a "set" -d 'Say what a path may be used for; it is remembered'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from bunch" -f -a "gateway" -d 'Run a gateway: it puts uploads together and hands them to receivers'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from bunch" -f -a "invite" -d 'Make a token that lets one access point in, and print it'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from bunch" -f -a "ap" -d 'Run an access point: it helps the uploads of its home, of its neighbours, or both'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from bunch" -f -a "status" -d 'Say how the running gateway or access point does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from bunch" -f -a "revoke" -d 'Let an access point in no more, and end its tunnel'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from sim" -f -a "run" -d 'Run a scenario once and print what every flow and station got'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from sim" -f -a "sweep" -d 'Run a scenario at every point of its sweep, on all cores'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from sim" -f -a "check" -d 'Check scenario files, and say how many runs their sweeps have'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "run" -d 'Run a scenario\'s own flows and events in real time, and print what every flow and station got, as `sim run` does'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "check" -d 'Say which scenario files this machine can run live, and what keeps it from the others'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "up" -d 'Make a scenario live and keep it up'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "down" -d 'Take a lab down'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "shell" -d 'Open a shell inside a node'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "exec" -d 'Run a program inside a node'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "map" -d 'Draw who is where and who hears whom'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "set" -d 'Move a station, cut a link, change a radio, start an interferer'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "top" -d 'Watch stations, radios, paths of bonds and links'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "radio" -d 'Say what a node\'s radios say of themselves: queues, completions, stations, channel'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "capture" -d 'Write what a radio hears as pcapng, or make a monitor interface of it, whoever it is for'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "machine" -d 'The first process of a machine in virtual time'
complete -c ropewalk -n "__fish_ropewalk_using_subcommand help; and __fish_seen_subcommand_from mptcp" -f -a "cc" -d 'Congestion controllers for the kernel: LIA, OLIA and BALIA, which couple subflows, and HighSpeed TCP'
