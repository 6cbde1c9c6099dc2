//! Sorts records of network flows by IPv6 addresses, 128 bits each in network byte order, and then
//! by port: a key wider than the library's own key types.
//!
//! ```text
//! cargo run --release --example flows
//! ```

use std::net::Ipv6Addr;
use wgpu_bcfsort::{Comparator, Options, Order, Sorter, members};

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Flow {
    source: [u8; 16],
    destination: [u8; 16],
    port: u32,
    bytes: u32,
}

/// The first byte of an address word is the lowest for the GPU, but the most significant in order.
/// So bytes are reversed.
const BY_ADDRESSES: &str = "
struct Flow {
    source: array<u32, 4>,
    destination: array<u32, 4>,
    port: u32,
    bytes: u32,
}

fn big_endian(word: u32) -> u32 {
    return ((word & 0xffu) << 24u) | ((word & 0xff00u) << 8u)
        | ((word >> 8u) & 0xff00u) | (word >> 24u);
}

// -1, 0 or 1.
fn compare(a: array<u32, 4>, b: array<u32, 4>) -> i32 {
    var left = a;
    var right = b;
    for (var i = 0u; i < 4u; i++) {
        let x = big_endian(left[i]);
        let y = big_endian(right[i]);
        if x != y {
            return select(1, -1, x < y);
        }
    }
    return 0;
}

fn precedes(a: Flow, b: Flow) -> bool {
    let sources = compare(a.source, b.source);
    if sources != 0 {
        return sources < 0;
    }
    let destinations = compare(a.destination, b.destination);
    if destinations != 0 {
        return destinations < 0;
    }
    return a.port < b.port;
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let members = members!(Flow {
        source,
        destination,
        port,
        bytes
    });
    let comparator = Comparator::of(BY_ADDRESSES, members)?;

    let address = |host: u32| {
        let [a, b] = [(host >> 16) as u16, host as u16];
        Ipv6Addr::new(0x2001, 0xdb8, a % 7, 0, 0, 0, 0, b % 50).octets()
    };
    let flow = |i: u32| {
        let random = i.wrapping_mul(2_654_435_761);
        Flow {
            source: address(random),
            destination: address(random.rotate_left(9)),
            port: random % 3 * 100 + 80,
            bytes: i,
        }
    };
    let mut flows: Vec<Flow> = (0..20_000).map(flow).collect();
    // The CPU's result, for comparison. Flows with equal addresses and ports keep their order.
    let mut expected = flows.clone();
    expected.sort_by_key(|flow| (flow.source, flow.destination, flow.port));

    let sorter = Sorter::open(Options::default())?;
    println!("sorting on {}", sorter.device().adapter_info().name);
    sorter.sort_by(&mut flows, &comparator, Order::Ascending)?;

    assert!(bytemuck::cast_slice::<_, u8>(&flows) == bytemuck::cast_slice::<_, u8>(&expected));
    for flow in flows.iter().step_by(5000) {
        let [from, to] = [flow.source, flow.destination].map(Ipv6Addr::from);
        println!("{from} -> {to}, port {}", flow.port);
    }
    Ok(())
}
