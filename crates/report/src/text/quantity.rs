//! Numbers and foreign text as they are shown.

/// Stands for a value that is not known.
pub(super) const ABSENT: &str = "—";

/// Longest piece of a server's text that is shown.
const FOREIGN_CHARS_MAX: usize = 160;

/// `value` with so many decimals, thousands apart.
pub(super) fn number(value: Option<f64>, decimals: usize) -> String {
    let Some(value) = value else {
        return ABSENT.to_owned();
    };
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    format!("{}{fraction}", thousands(whole))
}

/// A count, thousands apart.
pub(super) fn count(value: u64) -> String {
    thousands(&value.to_string())
}

/// A share as per cent.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or(ABSENT.to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// A text that came from outside, on one line, without anything that a terminal would obey.
pub(super) fn foreign(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(FOREIGN_CHARS_MAX)
        .collect();
    if text.chars().count() > FOREIGN_CHARS_MAX {
        plain + " …"
    } else {
        plain
    }
}

fn thousands(digits: &str) -> String {
    let (sign, digits) = digits.split_at(usize::from(digits.starts_with('-')));
    let mut grouped = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_absent_ones_are_dashes() {
        let cases = [
            (Some(0.0), 2, "0.00"),
            (Some(999.996), 2, "1,000.00"),
            (Some(1_234_567.0), 0, "1,234,567"),
        ];
        for (value, decimals, expected) in cases {
            assert_eq!(number(value, decimals), expected);
        }
        assert_eq!(number(Some(-1234.5), 1), "-1,234.5");
        assert_eq!((number(None, 2), percent(None)), ("—".to_owned(), "—".to_owned()));
        assert_eq!(count(18_446_744_073_709_551_615), "18,446,744,073,709,551,615");
        assert_eq!(foreign("a\u{1b}[31m\nb"), "a [31m b");
        assert_eq!(foreign(&"é".repeat(200)).chars().count(), FOREIGN_CHARS_MAX + 2);
    }
}
