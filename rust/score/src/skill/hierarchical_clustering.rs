/// A condensed distance matrix: each pair of items once.
pub(crate) struct Condensed {
    n: usize,
    values: Vec<f64>,
}

impl Condensed {
    /// Returns the distances of all pairs of indices below `n`.
    pub(crate) fn of(n: usize, distance: impl Fn(usize, usize) -> f64) -> Self {
        let mut values = Vec::with_capacity(n * n.saturating_sub(1) / 2);
        for a in 1..n {
            values.extend((0..a).map(|b| distance(a, b)));
        }
        Self { n, values }
    }

    fn place(a: usize, b: usize) -> usize {
        let (high, low) = if a > b { (a, b) } else { (b, a) };
        high * (high - 1) / 2 + low
    }

    fn get(&self, a: usize, b: usize) -> f64 {
        self.values[Self::place(a, b)]
    }
}

/// Returns the number of clusters by average linkage.
///
/// Members merge at a distance of at most `cut`. `sizes` has the number of copies of each item. Nearest-neighbour
/// chains find the merges in quadratic time.
///
/// Source: Sokal and Michener (1958); Murtagh (1983).
pub(crate) fn clusters(mut distances: Condensed, mut sizes: Vec<f64>, cut: f64) -> usize {
    let n = distances.n;
    let mut alive: Vec<usize> = (0..n).collect();
    let (mut chain, mut merged): (Vec<usize>, usize) = (Vec::new(), 0);
    while alive.len() > 1 {
        let top = *chain.last().unwrap_or(&alive[0]);
        if chain.is_empty() {
            chain.push(top);
        }
        let before = chain.len().checked_sub(2).map(|place| chain[place]);
        let near = nearest(&distances, &alive, top, before);
        if before != Some(near) {
            chain.push(near);
            continue;
        }
        merged += usize::from(distances.get(top, near) <= cut);
        merge(&mut distances, &mut sizes, &mut alive, (top, near));
        chain.truncate(chain.len() - 2);
    }
    n - merged
}

/// Returns the nearest neighbour.
///
/// Among equals it is the previous item of the chain, so that chains end.
fn nearest(distances: &Condensed, alive: &[usize], top: usize, before: Option<usize>) -> usize {
    let mut best = before.map_or(f64::INFINITY, |near| distances.get(top, near));
    let mut near = before;
    for &other in alive.iter().filter(|other| **other != top) {
        let distance = distances.get(top, other);
        if distance < best || near.is_none() {
            (best, near) = (distance, Some(other));
        }
    }
    near.unwrap_or(top)
}

fn merge(distances: &mut Condensed, sizes: &mut [f64], alive: &mut Vec<usize>, (gone, kept): (usize, usize)) {
    alive.retain(|each| *each != gone);
    let whole = sizes[gone] + sizes[kept];
    for &other in alive.iter().filter(|other| **other != kept) {
        let mean = (sizes[gone] * distances.get(gone, other) + sizes[kept] * distances.get(kept, other)) / whole;
        distances.values[Condensed::place(kept, other)] = mean;
    }
    sizes[kept] = whole;
}
