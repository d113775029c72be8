//! The config file: a map of knobs, refused whole with everything that is wrong in it.

use std::collections::BTreeMap;

use limiter_core::yaml::{Document, Field, Refusal, Refusals, unknown};

use super::knobs::{KNOBS, Knob};
use super::layers::{Origin, Setting};

/// Reads the settings of a file called `name`.
///
/// # Errors
/// Every unknown key and every value of the wrong form, with its line.
pub(super) fn read(
    name: &str,
    text: &str,
) -> Result<BTreeMap<&'static str, Setting>, Vec<Refusal>> {
    let mut refusals = Refusals::new(name);
    let mut settings = BTreeMap::new();
    let document = Document::read(text, &mut refusals);
    if let Some(root) = document.root() {
        match root.fields("config", &mut refusals) {
            Some(mut fields) => {
                for (key, field) in fields.take_all() {
                    let Some(knob) = KNOBS.iter().find(|knob| knob.file_key() == key) else {
                        let known: Vec<String> = KNOBS.iter().map(Knob::file_key).collect();
                        let known: Vec<&str> = known.iter().map(String::as_str).collect();
                        refusals.add(field.line, &field.place, unknown(&key, &known));
                        continue;
                    };
                    if let Some(values) = values(knob, &field, &mut refusals) {
                        let origin = Origin::File {
                            file: name.to_owned(),
                            line: field.line,
                        };
                        settings.insert(knob.name, Setting { values, origin });
                    }
                }
            }
            None => root.refuse(&mut refusals, "a config file is a map: `region: mumbai`"),
        }
    }
    if refusals.is_empty() {
        Ok(settings)
    } else {
        Err(refusals.into_found())
    }
}

/// One text; for a knob that repeats a list, or a map of `NAME: ADDR`.
fn values(knob: &Knob, field: &Field<'_>, refusals: &mut Refusals) -> Option<Vec<String>> {
    if let Some(text) = field.text() {
        return Some(vec![text]);
    }
    if knob.repeats {
        if let Some(items) = field.items() {
            let texts: Option<Vec<String>> = items.iter().map(Field::text).collect();
            if texts.is_some() {
                return texts;
            }
        } else if let Some(mut fields) = field.fields(&field.place, refusals) {
            let pair = |(name, field): (String, Field<'_>)| {
                field.text().map(|address| format!("{name}={address}"))
            };
            let pairs: Option<Vec<String>> = fields.take_all().into_iter().map(pair).collect();
            if pairs.is_some() {
                return pairs;
            }
        }
    }
    field.refuse(
        refusals,
        &format!("write {}: {}", knob.file_key(), knob.form),
    );
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_refused_with_everything_that_is_wrong_in_it() {
        let text = "region: mumbai\nhtpp: 127.0.0.1:1\ntick: [1s]\npeer: {a: 10.0.0.1:7946}\n";
        let refusals = read("region.yaml", text).unwrap_err();
        let texts: Vec<_> = refusals.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(
            texts[0].starts_with("region.yaml:2: ") && texts[0].contains("did you mean \"http\"")
        );
        assert!(texts[1].starts_with("region.yaml:3: ") && texts[1].contains("tick: SPAN"));
    }

    #[test]
    fn lists_are_written_as_lists_or_maps() {
        let text = "redis: [redis://a:1]\npeer: {a: h:1, b: h:2}\nstore_deadline: 5ms\n";
        let settings = read("f", text).unwrap();
        assert_eq!(settings["peer"].values, ["a=h:1", "b=h:2"]);
        assert_eq!(settings["redis"].values, ["redis://a:1"]);
        assert_eq!(settings["store-deadline"].values, ["5ms"]);
        assert!(read("f", "").unwrap().is_empty());
    }
}
