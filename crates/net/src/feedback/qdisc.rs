//! Statistics of an interface's root queueing discipline, over rtnetlink (`tc -s qdisc show dev …`).
//!
//! A packet that leaves the queue is gone to the device: that is the nearest to a completion that a link without radio tells, and the truth wherever the queue is
//! the bottleneck (a shaper, or a driver with byte queue limits). Bytes are those of frames, with Ethernet headers. What waits is counted in buffers of the kernel, of which one
//! may hold several datagrams until it is cut.

use std::time::Duration;

use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2, TcStatsBasic, TcStatsQueue};

use super::counter::Wide;
use super::{Events, FeedbackError, LinkFeedback, LinkReport, Source, index_of};
use crate::netlink::Netlink;

/// Between two readings at least: the kernel's answer costs tens of microseconds.
const FASTEST: Duration = Duration::from_millis(2);

/// A root queueing discipline.
pub(super) struct Qdisc {
    netlink: Netlink,
    index: u32,
    every: Duration,
    counted: Counted,
}

/// What the kernel says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Statistics {
    kind: String,
    handle: TcHandle,
    basic: TcStatsBasic,
    queue: TcStatsQueue,
}

/// Counters made wide.
#[derive(Debug, Default)]
struct Counted {
    handle: Option<TcHandle>,
    bytes: u64,
    epoch: u32,
    sent: Wide,
    dropped: Wide,
}

impl Qdisc {
    pub(super) fn open(interface: &str, every: Duration) -> Result<Qdisc, FeedbackError> {
        let index = index_of(interface)?;
        let mut source = Qdisc {
            netlink: Netlink::open()?,
            index,
            every: every.max(FASTEST),
            counted: Counted::default(),
        };
        let unsupported = |sentence: String| Err(FeedbackError::unsupported(Source::Qdisc, sentence));
        match source.ask()? {
            None => unsupported(format!("{interface} has no queueing discipline that the kernel shows")),
            Some(s) if s.kind == "noqueue" => unsupported(format!(
                "{interface} has no queue of its own (noqueue): what is sent is gone at once"
            )),
            Some(statistics) => {
                source.counted.take(&statistics);
                Ok(source)
            }
        }
    }

    fn ask(&mut self) -> Result<Option<Statistics>, FeedbackError> {
        // Old kernels show the disciplines of all interfaces, whichever was asked about.
        let request = TcMessage::with_index(self.index as i32);
        let answers = self.netlink.ask(RouteNetlinkMessage::GetQueueDiscipline(request), NLM_F_DUMP)?;
        let root = answers.into_iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewQueueDiscipline(m)
                if m.header.index == self.index as i32 && m.header.parent == TcHandle::ROOT =>
            {
                Some(m)
            }
            _ => None,
        });
        Ok(root.as_ref().map(statistics))
    }
}

impl LinkFeedback for Qdisc {
    fn source(&self) -> Source {
        Source::Qdisc
    }

    fn read(&mut self) -> Result<LinkReport, FeedbackError> {
        // What is left after somebody has taken the discipline away holds nothing, and says so for ever.
        let there = self.ask()?.filter(|s| s.kind != "noqueue");
        let statistics = there.ok_or(FeedbackError::Gone(Source::Qdisc))?;
        Ok(self.counted.take(&statistics))
    }

    fn events(&self) -> Events<'_> {
        Events::Every(self.every)
    }
}

/// Reads a message as [`Qdisc`] does; for the fuzzer.
pub(crate) fn read_any(message: &RouteNetlinkMessage) {
    if let RouteNetlinkMessage::NewQueueDiscipline(m) = message {
        Counted::default().take(&statistics(m));
    }
}

fn statistics(message: &TcMessage) -> Statistics {
    let mut s = Statistics {
        kind: String::new(),
        handle: message.header.handle,
        basic: TcStatsBasic::default(),
        queue: TcStatsQueue::default(),
    };
    for attribute in &message.attributes {
        match attribute {
            TcAttribute::Kind(kind) => s.kind.clone_from(kind),
            TcAttribute::Stats2(all) => all.iter().for_each(|one| match one {
                TcStats2::Basic(basic) => s.basic = *basic,
                TcStats2::Queue(queue) => s.queue = *queue,
                _ => {}
            }),
            _ => {}
        }
    }
    s
}

impl Counted {
    /// A new epoch begins with another discipline, or when the sum of bytes, which is wide, has fallen.
    fn take(&mut self, s: &Statistics) -> LinkReport {
        let anew = self.handle != Some(s.handle) || s.basic.bytes < self.bytes;
        if anew {
            let epoch = if self.handle.is_some() { self.epoch.wrapping_add(1) } else { 0 };
            *self = Counted { epoch, handle: Some(s.handle), ..Counted::default() };
        }
        self.bytes = s.basic.bytes;
        self.sent.update(s.basic.packets, false);
        self.dropped.update(s.queue.drops, false);
        LinkReport {
            epoch: self.epoch,
            delivered: self.sent.total(),
            failed: self.dropped.total(),
            backlog_packets: s.queue.qlen,
            backlog_bytes: s.queue.backlog.into(),
            ..LinkReport::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(handle: u16, bytes: u64, packets: u32, drops: u32) -> Statistics {
        let (mut basic, mut queue) = (TcStatsBasic::default(), TcStatsQueue::default());
        (basic.bytes, basic.packets) = (bytes, packets);
        (queue.qlen, queue.backlog, queue.drops) = (3, 4_500, drops);
        Statistics { kind: "tbf".into(), handle: TcHandle { major: handle, minor: 0 }, basic, queue }
    }

    #[test]
    fn counters_are_wide_and_begin_anew_with_another_discipline() {
        let mut counted = Counted::default();
        let mut take = |s: Statistics| {
            let r = counted.take(&s);
            (r.epoch, r.delivered, r.failed)
        };
        assert_eq!(take(statistics(1, 1_000, u32::MAX, 5)), (0, u64::from(u32::MAX), 5));
        assert_eq!(take(statistics(1, 2_000, 1, 5)), (0, u64::from(u32::MAX) + 2, 5), "the packets wrapped");
        assert_eq!(take(statistics(1, 500, 1, 0)), (1, 1, 0), "replaced by one of the same name");
        assert_eq!(take(statistics(2, 900, 8, 2)), (2, 8, 2), "replaced by another");
        let last = counted.take(&statistics(2, 901, 9, 2));
        assert_eq!((last.backlog_packets, last.backlog_bytes, last.epoch), (3, 4_500, 2));
    }
}
