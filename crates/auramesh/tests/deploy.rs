//! The example service files: what they tell the program, the program understands, and what they ask it exists.

use std::process::Command;

const MANIFEST: &str = include_str!("../../../deploy/kubernetes/auramesh.yaml");
const UNITS: [(&str, &str); 3] = [
    (
        "coordinator",
        include_str!("../../../deploy/systemd/auramesh-coordinator.service"),
    ),
    (
        "gateway",
        include_str!("../../../deploy/systemd/auramesh-gateway.service"),
    ),
    (
        "server",
        include_str!("../../../deploy/systemd/auramesh-server@.service"),
    ),
];

/// The words of a command, with something in place of what the shell or systemd would put in.
fn words(command: &str) -> Vec<String> {
    let lookup = "$(getent hosts auramesh-coordinator | awk '{print $1; exit}')";
    let command = command
        .replace(lookup, "10.0.0.1")
        .replace("$POD_IP", "10.0.0.2")
        .replace("$HOSTNAME", "pod-1")
        .replace("${CREDENTIALS_DIRECTORY}", "/run/credentials")
        .replace(['"'], "");
    assert!(!command.contains('$'), "unknown variable: {command}");
    command.split_whitespace().map(str::to_owned).collect()
}

/// The program reads all flags and their values before it prints its help: a wrong one is an error instead.
fn check_understood(words: &[String]) {
    let output = Command::new(env!("CARGO_BIN_EXE_auramesh"))
        .args(words)
        .arg("--help")
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
}

fn value<'a>(words: &'a [String], flag: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| word == flag)?;
    words.get(at + 1).map(String::as_str)
}

/// An ini file: section, key, value.
fn settings(unit: &str) -> Vec<(&str, &str, &str)> {
    let mut section = "";
    let mut settings = Vec::new();
    for line in unit.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            section = name.strip_suffix(']').expect("a section ends");
            continue;
        }
        let (key, value) = line.split_once('=').expect("key=value");
        settings.push((section, key, value));
    }
    settings
}

#[test]
fn systemd_units_give_flags_and_credentials_that_exist() {
    for (role, unit) in UNITS {
        let settings = settings(unit);
        let of = |wanted: &str| {
            let found = settings.iter().filter(|(_, key, _)| *key == wanted);
            found.map(|(_, _, value)| *value).collect::<Vec<_>>()
        };
        let starts = of("ExecStart");
        let [start] = starts[..] else {
            panic!("{role}: one command");
        };
        let words = words(start);
        assert_eq!(words[0], "/usr/local/bin/auramesh");
        assert_eq!(words[1], role);
        check_understood(
            &words[1..]
                .iter()
                .map(|word| word.replace('%', ""))
                .collect::<Vec<_>>(),
        );
        // Every secret that is read was given.
        let loaded = of("LoadCredential");
        for word in &words {
            if let Some(name) = word.strip_prefix("/run/credentials/") {
                let given = loaded.iter().any(|it| it.split(':').next() == Some(name));
                assert!(given, "{role}: {name} is not loaded");
            }
        }
        let sections: Vec<&str> = settings.iter().map(|(section, ..)| *section).collect();
        for section in ["Unit", "Service", "Install"] {
            assert!(sections.contains(&section), "{role}: {section}");
        }
        // What the comment promises of the config file can stand in one.
        for key in ["control_file", "control", "listen"] {
            if unit.contains(&format!("{key} =")) {
                assert!(cluster_keys().contains(&key.to_owned()), "{key}");
            }
        }
    }
}

/// The last words of all config keys.
fn cluster_keys() -> Vec<String> {
    let config = serde_json::to_value(cluster::config::Config::default()).expect("plain");
    let mut keys = Vec::new();
    for (key, value) in config.as_object().expect("a table") {
        keys.push(key.clone());
        keys.extend(
            value
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, _)| key.clone()),
        );
    }
    keys
}

/// One document of the manifest, as far as it is needed.
struct Document {
    kind: String,
    name: String,
    text: String,
    /// What the container runs.
    words: Option<Vec<String>>,
}

fn documents() -> Vec<Document> {
    let parse = |text: &str| {
        let top = |key: &str| {
            let mut lines = text.lines();
            let line = lines.find_map(|line| line.strip_prefix(key));
            line.expect("every document has it").trim().to_owned()
        };
        // A folded scalar: deeper lines belong to the first.
        let command = text.split_once("- exec auramesh ").map(|(_, rest)| {
            let mut lines = rest.lines();
            let first = lines.next().unwrap_or_default();
            let more = lines.take_while(|line| line.trim_start().starts_with("--"));
            let all: Vec<&str> = [first].into_iter().chain(more).collect();
            words(&all.join(" "))
        });
        Document {
            kind: top("kind:"),
            name: top("  name:"),
            text: text.to_owned(),
            words: command,
        }
    };
    MANIFEST.split("\n---\n").map(parse).collect()
}

fn number_after(text: &str, mark: &str) -> Vec<u16> {
    let parts = text.split(mark).skip(1);
    let digits = parts.map(|part| {
        part.chars()
            .take_while(char::is_ascii_digit)
            .collect::<String>()
    });
    digits
        .map(|digits| digits.parse().expect("a port"))
        .collect()
}

#[test]
fn kubernetes_manifests_run_commands_that_exist_and_ask_where_they_answer() {
    assert!(!MANIFEST.contains('\t'), "YAML has no tabs");
    let documents = documents();
    let running: Vec<_> = documents.iter().filter(|it| it.words.is_some()).collect();
    assert_eq!(running.len(), 3, "coordinator, server, gateway");
    for document in running {
        let words = document.words.as_ref().expect("just filtered");
        assert!(["Deployment", "StatefulSet"].contains(&&*document.kind));
        assert_eq!(document.name, format!("auramesh-{}", words[0]));
        check_understood(words);
        let port = |flag: &str| {
            let address = value(words, flag)?;
            address.rsplit(':').next()?.parse::<u16>().ok()
        };
        // A gateway is ready when its clients can reach it; the others when a coordinator leads.
        let ready = match &*words[0] {
            "gateway" => port("--listen"),
            _ => port("--http"),
        };
        let asked = number_after(&document.text, "httpGet: { path: /healthz, port: ");
        assert_eq!(asked, [ready.expect("it listens")], "{}", document.name);
        // Others find it where it listens.
        let (bind, advertise) = (port("--bind"), port("--advertise"));
        assert!(bind.is_some() && bind == advertise, "{}", document.name);
    }
    let of = |name: &str, kind: &str| {
        let mut found = documents
            .iter()
            .filter(|it| it.name == name && it.kind == kind);
        found.next().unwrap_or_else(|| panic!("{kind} {name}"))
    };
    // The ports of services are those that the processes listen at.
    for (service, flag, kind) in [
        ("auramesh-coordinator", "--serve-control", "StatefulSet"),
        ("auramesh-gateway", "--listen", "Deployment"),
    ] {
        let words = of(service, kind).words.as_ref().expect("it runs");
        let port = value(words, flag).and_then(|it| it.rsplit(':').next()?.parse::<u16>().ok());
        let served = number_after(&of(service, "Service").text, "port: ");
        assert_eq!(served, [port.expect("a port")], "{service}");
    }
}
