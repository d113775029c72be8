//! YAML as people type it, read with positions: every refusal names file, line and key, and all of them come at once.
//!
//! Promises: a key that nobody asked for is refused with the nearest spelling; no text makes it panic.
//! Never knows what a field means.

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};

/// A document deeper than this is refused: nobody types one.
const DEPTH_MAX: usize = 16;

/// One thing wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {key}: {message}")]
pub struct Refusal {
    /// The file.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// Where: `rule pay-burst, window`.
    pub key: String,
    /// What was found, and what is accepted.
    pub message: String,
}

/// Everything wrong with a file, collected while it is read.
#[derive(Debug)]
pub struct Refusals {
    file: String,
    found: Vec<Refusal>,
}

impl Refusals {
    /// Nothing is wrong with `file` yet.
    pub fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            found: Vec::new(),
        }
    }

    /// Something is.
    pub fn add(&mut self, line: usize, key: impl Into<String>, message: impl Into<String>) {
        let (key, message) = (key.into(), message.into());
        self.found.push(Refusal {
            file: self.file.clone(),
            line,
            key,
            message,
        });
    }

    /// All of it, in order of lines.
    pub fn into_found(mut self) -> Vec<Refusal> {
        self.found.sort_by_key(|refusal| refusal.line);
        self.found
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

/// A document, borrowed from its text.
#[derive(Debug)]
pub struct Document<'t>(Option<MarkedYaml<'t>>);

impl<'t> Document<'t> {
    /// Reads `text`, which must hold at most one document.
    pub fn read(text: &'t str, refusals: &mut Refusals) -> Self {
        if let Some((line, _)) = text.lines().enumerate().find(|(_, line)| is_deep(line)) {
            refusals.add(line + 1, "file", "is nested too deeply");
            return Self(None);
        }
        match MarkedYaml::load_from_str(text) {
            Ok(documents) => {
                let mut documents = documents.into_iter();
                let first = documents.next();
                if let Some(second) = documents.next() {
                    let line = second.span.start.line();
                    refusals.add(line, "file", "holds a second document; write one");
                }
                Self(first)
            }
            Err(error) => {
                refusals.add(
                    error.marker().line().max(1),
                    "file",
                    format!("is no YAML: {}", error.info()),
                );
                Self(None)
            }
        }
    }

    /// What it holds; absent when it is empty.
    pub fn root(&self) -> Option<Field<'_>> {
        let node = self.0.as_ref()?;
        let field = Field {
            node,
            line: node.span.start.line(),
            place: "file".to_owned(),
        };
        (!field.is_null()).then_some(field)
    }
}

/// Whether a line opens or indents more levels than anybody means to.
fn is_deep(line: &str) -> bool {
    let opened = line
        .bytes()
        .filter(|byte| matches!(byte, b'[' | b'{'))
        .count();
    let dashes = line
        .split_whitespace()
        .take_while(|word| *word == "-" || *word == "?")
        .count();
    opened > 8 * DEPTH_MAX || dashes > DEPTH_MAX
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Field<'d> {
    node: &'d MarkedYaml<'d>,
    /// Its line, from 1.
    pub line: usize,
    /// What it is called, with what it belongs to.
    pub place: String,
}

impl<'d> Field<'d> {
    fn scalar(&self) -> Option<&Scalar<'d>> {
        match &self.node.data {
            YamlData::Value(scalar) => Some(scalar),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self.scalar(), Some(Scalar::Null))
    }

    /// What was found, for a message.
    pub fn found(&self) -> String {
        match &self.node.data {
            YamlData::Value(Scalar::Null) => "nothing".to_owned(),
            YamlData::Value(Scalar::Boolean(flag)) => flag.to_string(),
            YamlData::Value(Scalar::Integer(whole)) => whole.to_string(),
            YamlData::Value(Scalar::FloatingPoint(number)) => number.to_string(),
            YamlData::Value(Scalar::String(text)) => {
                format!("{:?}", text.chars().take(60).collect::<String>())
            }
            YamlData::Sequence(_) => "a list".to_owned(),
            YamlData::Mapping(_) => "a map".to_owned(),
            _ => "something else".to_owned(),
        }
    }

    /// Refuses the value: `wanted` says what is accepted.
    pub fn refuse(&self, refusals: &mut Refusals, wanted: &str) {
        refusals.add(
            self.line,
            &self.place,
            format!("found {}; {wanted}", self.found()),
        );
    }

    /// A text; numbers and flags are taken as they are written.
    pub fn text(&self) -> Option<String> {
        match self.scalar()? {
            Scalar::String(text) => Some(text.to_string()),
            Scalar::Integer(whole) => Some(whole.to_string()),
            Scalar::Boolean(flag) => Some(flag.to_string()),
            Scalar::Null | Scalar::FloatingPoint(_) => None,
        }
    }

    /// A whole number that is not negative.
    pub fn whole(&self) -> Option<u64> {
        match self.scalar()? {
            Scalar::Integer(whole) => u64::try_from(*whole).ok(),
            _ => None,
        }
    }

    /// A whole number.
    pub fn signed(&self) -> Option<i64> {
        match self.scalar()? {
            Scalar::Integer(whole) => Some(*whole),
            _ => None,
        }
    }

    /// `true` or `false`.
    pub fn flag(&self) -> Option<bool> {
        match self.scalar()? {
            Scalar::Boolean(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The items of a list.
    pub fn items(&self) -> Option<Vec<Self>> {
        let YamlData::Sequence(items) = &self.node.data else {
            return None;
        };
        let item = |(place, node): (usize, &'d MarkedYaml<'d>)| Field {
            node,
            line: node.span.start.line(),
            place: format!("{}, item {}", self.place, place + 1),
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// The fields of a map, each called by its own name within `place`.
    pub fn fields(&self, place: &str, refusals: &mut Refusals) -> Option<Fields<'d>> {
        let YamlData::Mapping(map) = &self.node.data else {
            return None;
        };
        let mut fields = Fields {
            line: self.line,
            place: place.to_owned(),
            entries: Vec::new(),
            asked: Vec::new(),
        };
        for (key, node) in map {
            let line = key.span.start.line();
            let key = Field {
                node: key,
                line,
                place: place.to_owned(),
            };
            match key.text() {
                Some(name) => fields.entries.push(Entry {
                    name,
                    line,
                    node,
                    used: false,
                }),
                None => key.refuse(refusals, "a key is a name"),
            }
        }
        Some(fields)
    }
}

/// The fields of a map. Each must be asked for, or [`Fields::finish`] refuses it.
#[derive(Debug)]
pub struct Fields<'d> {
    /// The map's line.
    pub line: usize,
    /// What it is called.
    pub place: String,
    entries: Vec<Entry<'d>>,
    asked: Vec<&'static str>,
}

#[derive(Debug)]
struct Entry<'d> {
    name: String,
    line: usize,
    node: &'d MarkedYaml<'d>,
    used: bool,
}

impl<'d> Fields<'d> {
    /// The field called `name`, if it was written.
    pub fn take(&mut self, name: &'static str) -> Option<Field<'d>> {
        self.asked.push(name);
        let entry = self.entries.iter_mut().find(|entry| entry.name == name)?;
        entry.used = true;
        Some(Field {
            node: entry.node,
            line: entry.line,
            place: format!("{}, {name}", self.place),
        })
    }

    /// Every field, whatever it is called.
    pub fn take_all(&mut self) -> Vec<(String, Field<'d>)> {
        let place = &self.place;
        let field = |entry: &mut Entry<'d>| {
            entry.used = true;
            let place = format!("{place}, {}", entry.name);
            (
                entry.name.clone(),
                Field {
                    node: entry.node,
                    line: entry.line,
                    place,
                },
            )
        };
        self.entries.iter_mut().map(field).collect()
    }

    /// Renames the map, once it is known what it is.
    pub fn call(&mut self, place: String) {
        self.place = place;
    }

    /// Refuses every field that was not asked for.
    pub fn finish(self, refusals: &mut Refusals) {
        for entry in self.entries.iter().filter(|entry| !entry.used) {
            let place = format!("{}, {}", self.place, entry.name);
            refusals.add(entry.line, place, unknown(&entry.name, &self.asked));
        }
    }
}

/// What to say of an unknown name.
pub fn unknown(name: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .min_by_key(|known| strsim::damerau_levenshtein(known, name));
    match nearest {
        Some(nearest) if strsim::damerau_levenshtein(nearest, name) <= 1 + name.len() / 3 => {
            format!("unknown key {name:?}; did you mean {nearest:?}?")
        }
        _ => format!("unknown key {name:?}; known are {}", known.join(", ")),
    }
}
