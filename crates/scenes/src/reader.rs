//! Typed access to a TOML file in which every value knows its place.
//!
//! The reader never stops at a mistake: it notes it in `Problems` and answers `None`, and the caller
//! goes on with a default. A file is accepted only if nothing was noted, so a default that stands in
//! for a wrong value never reaches a [`Scene`](crate::Scene).

use crate::nearest::unknown;
use crate::numbers::Short;
use crate::problems::Problems;
use std::fmt;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Which numbers a key takes.
#[derive(Clone, Copy)]
pub(crate) struct Allowed {
    min: f64,
    min_included: bool,
    max: f64,
}

impl Allowed {
    pub(crate) const fn above(min: f64) -> Self {
        Self {
            min,
            min_included: false,
            max: f64::MAX,
        }
    }

    pub(crate) const fn at_least(min: f64) -> Self {
        Self {
            min,
            min_included: true,
            max: f64::MAX,
        }
    }

    pub(crate) const fn up_to(self, max: f64) -> Self {
        Self { max, ..self }
    }

    /// From `-limit` to `limit`.
    pub(crate) const fn within(limit: f64) -> Self {
        Self::at_least(-limit).up_to(limit)
    }

    fn holds(self, value: f64) -> bool {
        let low_enough = value <= self.max;
        let high_enough = value > self.min || (self.min_included && value == self.min);
        value.is_finite() && low_enough && high_enough
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = if self.min_included {
            "of at least"
        } else {
            "above"
        };
        write!(
            f,
            "a finite number {bound} {} and at most {}",
            Short(self.min),
            Short(self.max)
        )
    }
}

/// One table of the file.
pub(crate) struct Table<'r, 't> {
    problems: &'r Problems<'t>,
    entries: &'r DeTable<'t>,
    path: String,
    span: Range<usize>,
}

impl<'r, 't> Table<'r, 't> {
    /// The whole file.
    pub(crate) fn root(problems: &'r Problems<'t>, entries: &'r DeTable<'t>) -> Self {
        Self {
            problems,
            entries,
            path: String::new(),
            span: 0..0,
        }
    }

    pub(crate) fn problems(&self) -> &'r Problems<'t> {
        self.problems
    }

    /// Where the table starts; orders entries of different lists as they stand in the file.
    pub(crate) fn start(&self) -> usize {
        self.span.start
    }

    pub(crate) fn span(&self) -> &Range<usize> {
        &self.span
    }

    /// Notes every key that is not one of these.
    pub(crate) fn allow(&self, known: &[&[&str]]) {
        let known = known.concat();
        for key in self.entries.keys() {
            if !known.contains(&key.get_ref().as_ref()) {
                let message = match self.problems.is_full() {
                    true => String::new(),
                    false => unknown("key", key.get_ref(), &known),
                };
                self.problems
                    .note(key.span(), &self.path_to(key.get_ref()), message);
            }
        }
    }

    pub(crate) fn field(&self, key: &str) -> Option<Field<'r, 't>> {
        let (_, value) = self.entries.iter().find(|(k, _)| k.get_ref() == key)?;
        Some(Field {
            problems: self.problems,
            value,
            path: self.path_to(key),
        })
    }

    /// Like `field`, but its absence is a mistake; `what` says what should stand there.
    pub(crate) fn required(&self, key: &str, what: &str) -> Option<Field<'r, 't>> {
        let found = self.field(key);
        if found.is_none() {
            self.note(key, format!("missing key `{key}`: {what}"));
        }
        found
    }

    /// Notes a mistake of the value of `key`, or of the table if it has no such key.
    pub(crate) fn note(&self, key: &str, message: impl Into<String>) {
        let span = self
            .field(key)
            .map_or(self.span.clone(), |f| f.value.span());
        self.problems.note(span, &self.path_to(key), message);
    }

    /// The tables of a list of at most so many tables, in order; none if the key is absent.
    pub(crate) fn tables(&self, key: &str, most: usize) -> Vec<Table<'r, 't>> {
        let items = self
            .field(key)
            .and_then(|f| f.items("a list of tables", most));
        items
            .unwrap_or_default()
            .into_iter()
            .filter_map(|item| item.table())
            .collect()
    }

    fn path_to(&self, key: &str) -> String {
        let shown: String = key.chars().take(60).collect();
        match self.path.as_str() {
            "" => shown,
            path => format!("{path}.{shown}"),
        }
    }
}

/// One value of the file.
pub(crate) struct Field<'r, 't> {
    problems: &'r Problems<'t>,
    value: &'r Spanned<DeValue<'t>>,
    path: String,
}

impl<'r, 't> Field<'r, 't> {
    pub(crate) fn note(&self, message: impl Into<String>) {
        self.problems.note(self.value.span(), &self.path, message);
    }

    pub(crate) fn number(&self, allowed: Allowed) -> Option<f64> {
        let value = match self.value.get_ref() {
            DeValue::Integer(i) => integer(i.as_str(), i.radix()).map(|v| v as f64),
            DeValue::Float(f) => f.as_str().parse().ok(),
            _ => None,
        };
        match value {
            Some(value) if allowed.holds(value) => Some(value),
            Some(value) => self.refuse(format!("must be {allowed}, not {}", Short(value))),
            None => self.refuse(format!("must be {allowed}, not {}", self.kind())),
        }
    }

    pub(crate) fn integer(&self, allowed: RangeInclusive<u64>) -> Option<u64> {
        let (min, max) = allowed.clone().into_inner();
        let value = match self.value.get_ref() {
            DeValue::Integer(i) => integer(i.as_str(), i.radix()),
            _ => None,
        };
        let wanted = format!("must be a whole number from {min} to {max}");
        match value {
            Some(value) => match u64::try_from(value) {
                Ok(value) if allowed.contains(&value) => Some(value),
                _ => self.refuse(format!("{wanted}, not {value}")),
            },
            None => self.refuse(format!("{wanted}, not {}", self.kind())),
        }
    }

    pub(crate) fn text(&self) -> Option<&'r str> {
        match self.value.get_ref() {
            DeValue::String(text) if (1..=MAX_TEXT).contains(&text.len()) => Some(text),
            DeValue::String(text) => self.refuse(format!(
                "must have 1 to {MAX_TEXT} bytes, not {}",
                text.len()
            )),
            _ => self.refuse(format!("must be a text in quotes, not {}", self.kind())),
        }
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        match self.value.get_ref() {
            DeValue::Boolean(flag) => Some(*flag),
            _ => self.refuse(format!("must be true or false, not {}", self.kind())),
        }
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(&self, what: &str, choices: &[(&str, T)]) -> Option<T> {
        let word = self.text()?;
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == word) {
            return Some(*value);
        }
        let known: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        self.refuse(unknown(what, word, &known))
    }

    /// A list of exactly `N` numbers.
    pub(crate) fn vector<const N: usize>(&self, allowed: Allowed) -> Option<[f64; N]> {
        let wanted = format!("a list of {N} numbers");
        if let DeValue::Array(items) = self.value.get_ref()
            && items.len() != N
        {
            return self.refuse(format!("must be {wanted}, not of {}", items.len()));
        }
        let items = self.items(&wanted, N)?;
        let numbers: Vec<Option<f64>> = items.iter().map(|i| i.number(allowed)).collect();
        let numbers: Option<Vec<f64>> = numbers.into_iter().collect();
        numbers?.try_into().ok()
    }

    pub(crate) fn table(&self) -> Option<Table<'r, 't>> {
        match self.value.get_ref() {
            DeValue::Table(entries) => Some(Table {
                problems: self.problems,
                entries,
                path: self.path.clone(),
                span: self.value.span(),
            }),
            _ => self.refuse(format!("must be a table, not {}", self.kind())),
        }
    }

    /// The items of a list of at most so many.
    pub(crate) fn items(&self, wanted: &str, most: usize) -> Option<Vec<Field<'r, 't>>> {
        match self.value.get_ref() {
            DeValue::Array(items) if items.len() <= most => Some(self.each(items)),
            DeValue::Array(items) => self.refuse(format!(
                "at most {most} entries are allowed, not {}",
                items.len()
            )),
            _ => self.refuse(format!("must be {wanted}, not {}", self.kind())),
        }
    }

    fn each(&self, items: &'r DeArray<'t>) -> Vec<Field<'r, 't>> {
        let field = |(i, value)| Field {
            problems: self.problems,
            value,
            path: format!("{}[{i}]", self.path),
        };
        items.iter().enumerate().map(field).collect()
    }

    fn refuse<T>(&self, message: String) -> Option<T> {
        self.note(message);
        None
    }

    fn kind(&self) -> &'static str {
        match self.value.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) | DeValue::Float(_) => "a number of this kind",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        }
    }
}

/// The longest text a key may have.
const MAX_TEXT: usize = 1000;

fn integer(digits: &str, radix: u32) -> Option<i128> {
    i128::from_str_radix(digits, radix).ok()
}
