//! Every knob of a node, defined once: help texts, the environment, the file and `config print` are made from this table.

/// A knob.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// Its flag, without the dashes. The variable is `REGIOND_` and the name in capitals, the file's key has
    /// underscores for hyphens.
    pub name: &'static str,
    /// What a value looks like.
    pub form: &'static str,
    /// What holds when nobody says; empty: nothing.
    pub default: &'static str,
    /// Whether it may be given several times.
    pub repeats: bool,
    /// One line of help.
    pub doc: &'static str,
}

const fn knob(
    name: &'static str,
    form: &'static str,
    default: &'static str,
    doc: &'static str,
) -> Knob {
    Knob {
        name,
        form,
        default,
        repeats: false,
        doc,
    }
}

const fn list(name: &'static str, form: &'static str, doc: &'static str) -> Knob {
    Knob {
        name,
        form,
        default: "",
        repeats: true,
        doc,
    }
}

/// All of them, in the order of help.
pub const KNOBS: &[Knob] = &[
    knob(
        "region",
        "NAME",
        "local",
        "This region's name, as in its certificate",
    ),
    knob(
        "rules",
        "FILE",
        "",
        "The rules file; without one everything is allowed",
    ),
    list(
        "redis",
        "URL",
        "The region's Redis, redis://[user:password@]host:port[/db]; without one the embedded store",
    ),
    knob(
        "http",
        "ADDR",
        "127.0.0.1:8080",
        "Where checks are answered over HTTP",
    ),
    knob(
        "grpc",
        "ADDR",
        "127.0.0.1:8081",
        "Where checks, and pods' reports, are answered over gRPC",
    ),
    knob(
        "admin",
        "ADDR",
        "127.0.0.1:9090",
        "Where operators ask, and metrics are scraped",
    ),
    knob(
        "mesh",
        "ADDR",
        "127.0.0.1:7946",
        "Where other regions are heard (UDP)",
    ),
    list("peer", "NAME=ADDR", "Another region and its mesh address"),
    knob(
        "mesh-daemon",
        "ADDR",
        "",
        "A pod alone: the gRPC address of its region's mesh daemon",
    ),
    knob(
        "ca",
        "FILE",
        "",
        "Authorities that other regions' certificates must come from (PEM)",
    ),
    knob("cert", "FILE", "", "This region's certificate (PEM)"),
    knob("key", "FILE", "", "Its private key (PEM)"),
    knob(
        "data",
        "DIR",
        "",
        "Where state that outlives the process is kept; this version keeps none",
    ),
    knob(
        "tick",
        "SPAN",
        "1s",
        "How often busy counts are shared, 20ms to 1m",
    ),
    knob(
        "grace",
        "SPAN",
        "5s",
        "How long a graceful stop may take, up to 10m",
    ),
    knob(
        "store-deadline",
        "SPAN",
        "3ms",
        "The longest wait for the store, 1ms to 1s",
    ),
];

impl Knob {
    /// Its variable in the environment.
    pub fn variable(&self) -> String {
        format!("REGIOND_{}", self.name.replace('-', "_").to_uppercase())
    }

    /// Its key in the file.
    pub fn file_key(&self) -> String {
        self.name.replace('-', "_")
    }
}
