//! Flags over environment over file over defaults; each value remembers where it came from.

use std::collections::BTreeMap;
use std::fmt;

use super::knobs::{KNOBS, Knob};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag.
    Flag(&'static str),
    /// A variable of the environment.
    Variable(String),
    /// A line of the config file.
    File {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
    },
    /// Nobody said.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "--{name}"),
            Self::Variable(name) => f.write_str(name),
            Self::File { file, line } => write!(f, "{file}:{line}"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A knob's texts, and where they came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As written; several for a knob that repeats, none when it is not set.
    pub values: Vec<String>,
    /// Where from.
    pub origin: Origin,
}

/// Texts by a knob's name.
pub type Texts = BTreeMap<&'static str, Vec<String>>;

/// Every knob's setting.
#[derive(Clone, Debug)]
pub struct Layers(BTreeMap<&'static str, Setting>);

impl Layers {
    /// Lays flags over the environment over the file over the defaults.
    pub fn lay(
        flags: &Texts,
        variable: impl Fn(&str) -> Option<String>,
        mut file: BTreeMap<&'static str, Setting>,
    ) -> Self {
        let mut settings = BTreeMap::new();
        for knob in KNOBS {
            let name = knob.variable();
            let setting = if let Some(values) = flags.get(knob.name) {
                Setting {
                    values: values.clone(),
                    origin: Origin::Flag(knob.name),
                }
            } else if let Some(text) = variable(&name) {
                Setting {
                    values: split(knob, &text),
                    origin: Origin::Variable(name),
                }
            } else if let Some(setting) = file.remove(knob.name) {
                setting
            } else {
                let default = Some(knob.default.to_owned()).filter(|it| !it.is_empty());
                Setting {
                    values: default.into_iter().collect(),
                    origin: Origin::Default,
                }
            };
            settings.insert(knob.name, setting);
        }
        Self(settings)
    }

    /// All, in the order of help.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Knob, &Setting)> {
        KNOBS
            .iter()
            .filter_map(|knob| Some((knob, self.0.get(knob.name)?)))
    }

    /// The setting of a knob that the table has.
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.0.get(name)
    }
}

/// A variable holds a list with commas in between.
fn split(knob: &Knob, text: &str) -> Vec<String> {
    if !knob.repeats {
        return vec![text.to_owned()];
    }
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_win_over_variables_over_the_file_over_defaults() {
        let file_origin = Origin::File {
            file: "region.yaml".into(),
            line: 3,
        };
        let file = ["http", "grpc", "tick"].map(|name| {
            (
                name,
                Setting {
                    values: vec!["file".into()],
                    origin: file_origin.clone(),
                },
            )
        });
        let flags = Texts::from([("http", vec!["flag".to_owned()])]);
        let variable = |name: &str| match name {
            "REGIOND_HTTP" | "REGIOND_GRPC" => Some("variable".to_owned()),
            "REGIOND_PEER" => Some("a=1, b=2".to_owned()),
            _ => None,
        };
        let layers = Layers::lay(&flags, variable, file.into());
        let seen = |name| {
            let setting = layers.setting(name).unwrap();
            format!("{} from {}", setting.values.join("+"), setting.origin)
        };
        assert_eq!(seen("http"), "flag from --http");
        assert_eq!(seen("grpc"), "variable from REGIOND_GRPC");
        assert_eq!(seen("tick"), "file from region.yaml:3");
        assert_eq!(seen("grace"), "5s from default");
        assert_eq!(seen("peer"), "a=1+b=2 from REGIOND_PEER");
        assert_eq!(seen("rules"), " from default");
    }
}
