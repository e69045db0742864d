//! The wire between the hosts: takes every frame from one and gives it to another after a while, or loses it.
//!
//! A kernel without `netem` delays nothing, so it is done here: a packet socket in the namespace where all cables end
//! hears every IPv4 frame. Who sent a frame and who is to have it is in its addresses (hosts know each other's, so that
//! nobody asks for them); on which cable a host is shows from where its frames come.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{ErrorKind, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::network::host_of;

/// How long a frame takes, in microseconds: from, and to.
const DELAY: (u64, u64) = (15_000, 25_000);
/// The number of IPv4 frames.
const IPV4: u16 = 0x0800;
/// Before these bytes of a frame are its two addresses and its kind.
const HEADER: usize = 14;
/// How often the wire looks whether a frame is due.
const TICK: Duration = Duration::from_millis(1);

/// What becomes of frames.
#[derive(Clone, Default)]
pub(crate) struct Weather {
    /// Of a hundred frames so many are lost.
    pub(crate) loss_percent: u64,
    /// The host from which nothing comes.
    pub(crate) mute: Option<u32>,
    /// The host to which nothing comes.
    pub(crate) deaf: Option<u32>,
}

/// The wire. It works as long as this process.
pub(crate) struct Wire {
    weather: Arc<Mutex<Weather>>,
    count: Arc<Count>,
}

/// What became of frames that no fault concerned.
#[derive(Default)]
struct Count {
    all: AtomicU64,
    lost: AtomicU64,
}

/// A frame takes at least this long.
pub(crate) fn least_delay() -> Duration {
    Duration::from_micros(DELAY.0)
}

struct Frame {
    due: Instant,
    number: u64,
    to: u32,
    bytes: Vec<u8>,
}

impl Wire {
    pub(crate) fn new(seed: u64, weather: Weather) -> Wire {
        let protocol = Protocol::from(i32::from(IPV4.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(protocol)).expect("this namespace is ours");
        socket.set_read_timeout(Some(TICK)).expect("a socket may be impatient");
        let weather = Arc::new(Mutex::new(weather));
        let count = Arc::new(Count::default());
        let (shared, counting, random) = (weather.clone(), count.clone(), Xoshiro256PlusPlus::seed_from_u64(seed));
        std::thread::spawn(move || carry(&socket, &shared, &counting, random));
        Wire { weather, count }
    }

    /// Of a hundred frames so many were lost by chance.
    pub(crate) fn lost_percent(&self) -> f64 {
        let [all, lost] = [&self.count.all, &self.count.lost].map(|count| count.load(Ordering::Relaxed) as f64);
        100.0 * lost / all
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Weather)) {
        change(&mut self.weather.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn carry(socket: &Socket, weather: &Mutex<Weather>, count: &Count, mut random: Xoshiro256PlusPlus) {
    let mut cables: BTreeMap<u32, SockAddr> = BTreeMap::new();
    let mut under_way: BinaryHeap<Reverse<Frame>> = BinaryHeap::new();
    let mut buffer = vec![0; 70_000];
    for number in 0.. {
        while under_way.peek().is_some_and(|Reverse(frame)| frame.due <= Instant::now()) {
            let Some(Reverse(frame)) = under_way.pop() else { break };
            if let Some(cable) = cables.get(&frame.to) {
                // A cable that takes no more loses it.
                _ = socket.send_to(&frame.bytes, cable);
            }
        }
        let cable = match socket.peek_sender() {
            Ok(cable) => cable,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => continue,
            Err(error) => panic!("the wire is broken: {error}"),
        };
        let length = (&*socket).read(&mut buffer).expect("there is a frame");
        let frame = &mut buffer[..length];
        let Some((from, to)) = ends(frame) else { continue };
        cables.entry(from).or_insert(cable);
        let Weather { loss_percent, mute, deaf } = weather.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if mute == Some(from) || deaf == Some(to) {
            continue;
        }
        let is_lost = random.next_u64() % 100 < loss_percent;
        count.all.fetch_add(1, Ordering::Relaxed);
        count.lost.fetch_add(u64::from(is_lost), Ordering::Relaxed);
        let micros = DELAY.0 + random.next_u64() % (DELAY.1 - DELAY.0);
        if !is_lost {
            check_sums(frame);
            let due = Instant::now() + Duration::from_micros(micros);
            under_way.push(Reverse(Frame { due, number, to, bytes: frame.to_vec() }));
        }
    }
}

/// From whom to whom a frame is.
fn ends(frame: &[u8]) -> Option<(u32, u32)> {
    Some((host_of(frame.get(6..12)?)?, host_of(frame.get(0..6)?)?))
}

/// Writes the check sum of a TCP segment, which a host leaves to its hardware; and there is none.
fn check_sums(frame: &mut [u8]) {
    let packet = &mut frame[HEADER..];
    let (header, whole) = match packet.get(..20) {
        Some(fixed) => (usize::from(fixed[0] & 15) * 4, usize::from(u16::from_be_bytes([fixed[2], fixed[3]]))),
        None => return,
    };
    let is_tcp = packet[9] == 6 && whole <= packet.len() && header + 20 <= whole;
    if !is_tcp {
        return;
    }
    let (ip, segment) = packet[..whole].split_at_mut(header);
    segment[16..18].fill(0);
    let pairs = ip[12..20].chunks(2).chain(segment.chunks(2));
    let words = pairs.map(|pair| u64::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)])));
    let mut sum: u64 = words.sum::<u64>() + 6 + segment.len() as u64;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    segment[16..18].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

impl Ord for Frame {
    fn cmp(&self, other: &Frame) -> std::cmp::Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

impl PartialOrd for Frame {
    fn partial_cmp(&self, other: &Frame) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Frame {
    fn eq(&self, other: &Frame) -> bool {
        self.number == other.number
    }
}

impl Eq for Frame {}
