//! Days of bars that come once a day at about the same time.

const DAY: i64 = 86_400;
/// Clock changes and half days move the time of a bar by less than this.
const MOST_MOVED: i64 = 6 * 3600;

/// Returns the day of each bar, if no day has two.
///
/// Days begin far from all bars, so that a change of clocks moves no bar to another day. Most bars have the day of their
/// date. `None` for bars at other times of day.
pub(crate) fn day_numbers(times: &[i64]) -> Option<Vec<i64>> {
    let mut clocks: Vec<i64> = times.iter().map(|time| time.rem_euclid(DAY)).collect();
    clocks.sort_unstable();
    clocks.dedup();
    let next = clocks.iter().skip(1).copied().chain([clocks.first()? + DAY]);
    let (gap, last) = clocks.iter().zip(next).map(|(clock, next)| (next - clock, *clock)).max()?;
    if DAY - gap > MOST_MOVED {
        return None;
    }
    let middle = (last + gap / 2).rem_euclid(DAY);
    let start = if 2 * middle < DAY { middle } else { middle - DAY };
    let days: Vec<i64> = times.iter().map(|time| (time - start).div_euclid(DAY)).collect();
    days.windows(2).all(|pair| pair[0] < pair[1]).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the times of hours on days from 1970-01-01 on.
    fn times(hours: &[i64]) -> Vec<i64> {
        (0..).zip(hours).map(|(day, hour)| day * DAY + hour * 3600).collect()
    }

    #[test]
    fn one_bar_a_day_has_the_day_of_its_date() {
        for hours in [[0; 4], [5, 5, 4, 4], [20, 21, 17, 20], [23, 22, 23, 22], [12; 4], [9, 14, 13, 9]] {
            assert_eq!(day_numbers(&times(&hours)), Some(vec![0, 1, 2, 3]), "{hours:?}");
        }
        // The clocks change at midnight.
        assert_eq!(day_numbers(&times(&[23, 23, 24, 24])), Some(vec![0, 1, 2, 3]));
    }

    #[test]
    fn bars_far_apart_within_a_day_and_two_bars_a_day_have_none() {
        assert_eq!(day_numbers(&times(&[9, 16, 9, 9])), None);
        assert_eq!(day_numbers(&[0, 3600, DAY]), None);
        assert_eq!(day_numbers(&[]), None);
    }
}
