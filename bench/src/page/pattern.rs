//! What a page is made of, and which connection asks for what.

/// How many hosts have parts of the page.
pub(super) const HOSTS: usize = 2;
/// Connections to each of them: what browsers open to a host that speaks HTTP/1.1.
const PER_HOST: usize = 6;

/// Sizes of the objects in KB of 1,024 bytes, in the order in which they are asked for. They are made up. Their sum,
/// 2,652 KB, is that of the median desktop page of October 2024; the document, the styles, the scripts and the fonts
/// are as many and as large together as that page's (HTTP Archive, Web Almanac 2024, chapter "Page Weight",
/// <https://almanac.httparchive.org/en/2024/page-weight>). Images are all the rest, up to 80 objects.
const KB: [&[u32]; 6] = [
    // The document.
    &[18],
    // Styles.
    &[9, 24, 3, 16, 5, 12, 2, 7],
    // Scripts.
    &[32, 7, 112, 15, 3, 49, 22, 9, 61, 1, 28, 12, 42, 5, 19, 78, 2, 25, 10, 37, 6, 17, 8, 13],
    // Fonts.
    &[35, 24, 42, 30],
    // Images.
    &[64, 11, 140, 27, 5, 86, 19, 43, 2, 115, 31, 8, 58, 22, 239, 14, 37, 4, 70, 16, 49, 9],
    &[98, 25, 1, 53, 12, 180, 33, 6, 46, 20, 77, 3, 29, 13, 40, 7, 35, 17, 10, 23, 15],
];

/// One connection of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Connection {
    /// The number of its host, from 0.
    pub host: usize,
    /// Bytes of each object that it asks for, one after the other.
    pub objects: Vec<u32>,
}

/// Bytes of all objects, the document first.
fn objects() -> impl Iterator<Item = u32> {
    KB.into_iter().flatten().map(|kb| kb * 1024)
}

/// Bytes of the largest object.
pub(super) fn largest() -> usize {
    objects().max().unwrap_or(0) as usize
}

/// All connections; the first object of the first one is the document. The hosts have the objects in turn. Each goes
/// to the connection of its host that has the fewest bytes so far: about what a browser does, whose next object takes
/// the connection that is free first, but the same in each run.
pub(super) fn connections() -> Vec<Connection> {
    let connection = |number: usize| Connection { host: number / PER_HOST, objects: Vec::new() };
    let mut all: Vec<Connection> = (0..HOSTS * PER_HOST).map(connection).collect();
    for (number, bytes) in objects().enumerate() {
        let of_host = all.iter_mut().filter(|connection| connection.host == number % HOSTS);
        if let Some(least) = of_host.min_by_key(|connection| connection.objects.iter().sum::<u32>()) {
            least.objects.push(bytes);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_sums_of_the_median_page() {
        let sums = KB.map(|sizes| sizes.iter().sum::<u32>());
        assert_eq!((&sums[..4], sums.iter().sum::<u32>()), (&[18, 78, 613, 131][..], 2652));
        assert_eq!(KB.map(<[u32]>::len), [1, 8, 24, 4, 22, 21]);
        assert_eq!((objects().count(), largest()), (80, 239 * 1024));
    }

    #[test]
    fn each_object_has_one_connection_and_each_host_six() {
        let all = connections();
        assert_eq!(all, connections());
        assert_eq!(all.iter().map(|c| c.host).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
        assert_eq!(all[0].objects[0], 18 * 1024);
        let mut asked: Vec<u32> = all.iter().flat_map(|c| c.objects.clone()).collect();
        let mut meant: Vec<u32> = objects().collect();
        asked.sort_unstable();
        meant.sort_unstable();
        assert_eq!(asked, meant);
    }

    #[test]
    fn objects_keep_their_order_and_connections_carry_alike() {
        let all = connections();
        // The first object of each connection is one of its host's first six.
        let firsts: Vec<u32> = all.iter().map(|c| c.objects[0] / 1024).collect();
        assert_eq!(firsts, [18, 24, 16, 12, 7, 7, 9, 3, 5, 2, 32, 112]);
        for host in all.chunks(PER_HOST) {
            let bytes = || host.iter().map(|c| c.objects.iter().sum::<u32>());
            let [most, least] = [bytes().max().unwrap(), bytes().min().unwrap()];
            assert!(most - least <= largest() as u32, "{most} and {least}");
        }
    }
}
