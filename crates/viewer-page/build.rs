//! Builds `viewer/` with Node.js, if it is there, and embeds the files. What is missing, or what npm says, becomes a page instead: this never
//! fails, and it writes to `target/` and `viewer/node_modules` only.
//!
//! The page is built once per content: its sources' hash names a directory below `target/viewer-page`, which survives `cargo clean -p` and is
//! shared by all profiles. `docs/decisions/0013-viewer.md` says why it is done this way.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io};

/// What the page is made of, below `viewer/`.
const SOURCES: [&str; 9] = [
    "client/src",
    "client/package.json",
    "index.html",
    "package.json",
    "package-lock.json",
    "src",
    "tsconfig.base.json",
    "tsconfig.json",
    "vite.config.mjs",
];
/// Node.js of this version or newer.
const NODE: (u32, u32) = (20, 19);

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let viewer = here.join("../../viewer");
    for source in SOURCES {
        println!("cargo:rerun-if-changed=../../viewer/{source}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=AURAMESH_VIEWER");
    let built = match page(&viewer, &out) {
        Ok(directory) => embed(&directory),
        Err(why) => {
            // The next build tries again: this file never exists.
            println!("cargo:rerun-if-changed=../../viewer/build-again");
            println!(
                "cargo:warning=the browser viewer is not built: {}",
                first_line(&why)
            );
            Ok(explain(&why))
        }
    };
    let code =
        built.unwrap_or_else(|error| explain(&format!("the built page cannot be read: {error}")));
    fs::write(out.join("files.rs"), code).expect("OUT_DIR is writable");
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The directory with the page's files.
fn page(viewer: &Path, out: &Path) -> Result<PathBuf, String> {
    if env::var_os("AURAMESH_VIEWER").is_some_and(|value| value == "none") {
        return Err("it was asked for that, with AURAMESH_VIEWER=none".to_owned());
    }
    let hash = hash_of(viewer).map_err(|error| format!("its sources cannot be read: {error}"))?;
    // OUT_DIR is target/PROFILE/build/CRATE-HASH/out, perhaps with a target triple before the profile.
    let target = out
        .ancestors()
        .find(|path| path.join("CACHEDIR.TAG").exists());
    let cache = target.unwrap_or(out).join("viewer-page");
    let directory = cache.join(format!("{hash:016x}"));
    if directory.join("index.html").exists() {
        return Ok(directory);
    }
    find_node()?;
    let _lock = Lock::take(&cache)?;
    if directory.join("index.html").exists() {
        return Ok(directory);
    }
    if !installed(viewer) {
        npm(
            viewer,
            &cache,
            &["ci", "--no-audit", "--no-fund", "--prefer-offline"],
            None,
        )?;
    }
    // Built aside and moved into place, so that nobody finds half a page.
    let aside = cache.join(format!("{hash:016x}.building-{}", std::process::id()));
    npm(viewer, &cache, &["run", "build", "--silent"], Some(&aside))?;
    fs::rename(&aside, &directory)
        .map_err(|error| format!("the built page cannot be moved: {error}"))?;
    Ok(directory)
}

/// Does `node_modules` hold what the lock file asks for? npm keeps a copy of what it installed last.
fn installed(viewer: &Path) -> bool {
    let modules = viewer.join("node_modules");
    let asked = modified(&viewer.join("package-lock.json"));
    let there = modified(&modules.join(".package-lock.json"));
    modules.join("vite").exists() && there.is_some() && there >= asked
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(path).and_then(|about| about.modified()).ok()
}

fn find_node() -> Result<(), String> {
    let hint = "Install Node.js 20.19 or newer with npm (Debian: apt-get install nodejs npm; others: https://nodejs.org) and build again.";
    let version = Command::new("node").arg("--version").output();
    let version = version.map_err(|_| format!("Node.js is not installed.\n{hint}"))?;
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let mut parts = version
        .trim_start_matches('v')
        .split('.')
        .map(|part| part.parse().unwrap_or(0));
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if found < NODE {
        return Err(format!("Node.js {version} is too old.\n{hint}"));
    }
    let npm = Command::new("npm").arg("--version").output();
    npm.map(|_| ())
        .map_err(|_| format!("npm is not installed.\n{hint}"))
}

fn npm(viewer: &Path, cache: &Path, arguments: &[&str], to: Option<&Path>) -> Result<(), String> {
    let mut command = Command::new("npm");
    command
        .env("npm_config_cache", cache.join("npm"))
        .env("npm_config_update_notifier", "false");
    command
        .args(arguments)
        .current_dir(viewer)
        .stdin(Stdio::null());
    if let Some(to) = to {
        command.env("AURAMESH_VIEWER_OUT", to);
    }
    let what = format!("npm {}", arguments[0]);
    let output = command
        .output()
        .map_err(|error| format!("{what} does not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let last: Vec<&str> = said.lines().rev().take(30).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(format!(
        "{what} failed. Is the network there? In viewer/, `npm ci && npm run build` says more.\n\n{}",
        last.join("\n")
    ))
}

/// Only one build at a time installs and builds. A lock that nobody renews is left over from one that was killed.
struct Lock(PathBuf);

impl Lock {
    fn take(cache: &Path) -> Result<Self, String> {
        fs::create_dir_all(cache)
            .map_err(|error| format!("{} cannot be made: {error}", cache.display()))?;
        let path = cache.join("lock");
        for _ in 0..1200 {
            match fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&path)
            {
                Ok(_) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let age = modified(&path).and_then(|time| time.elapsed().ok());
                    if age.is_some_and(|age| age.as_secs() > 300) {
                        let _ = fs::remove_file(&path);
                    }
                    std::thread::sleep(std::time::Duration::from_millis(250));
                }
                Err(error) => return Err(format!("{} cannot be made: {error}", path.display())),
            }
        }
        Err("another build of the page does not end".to_owned())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Of everything that the page is made of, in an order that does not change.
fn hash_of(viewer: &Path) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    for source in SOURCES {
        let mut files = Vec::new();
        collect(&viewer.join(source), &mut files)?;
        files.sort();
        for file in files {
            file.strip_prefix(viewer).unwrap_or(&file).hash(&mut hasher);
            fs::read(&file)?.hash(&mut hasher);
        }
    }
    Ok(hasher.finish())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else {
        files.push(path.to_owned());
    }
    Ok(())
}

/// The files as Rust: `FILES` has path and bytes, sorted by path.
fn embed(directory: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    collect(directory, &mut files)?;
    files.sort();
    let mut code = String::from("const BUILT: bool = true;\nconst FILES: &[(&str, &[u8])] = &[\n");
    for file in files {
        let relative = file.strip_prefix(directory).unwrap_or(&file);
        let parts: Vec<&str> = relative.iter().filter_map(OsStr::to_str).collect();
        code += &format!("    ({:?}, include_bytes!({:?})),\n", parts.join("/"), file);
    }
    Ok(code + "];\n")
}

/// A page that says what is missing.
fn explain(why: &str) -> String {
    let escaped = why.replace('&', "&amp;").replace('<', "&lt;");
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>Auramesh</title>\n\
         <style>body{{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color:#e8eef8;background:#10151f}}pre{{white-space:pre-wrap}}</style>\n\
         <h1>The world runs, but this build has no viewer</h1>\n<p>The viewer is made with Node.js when Auramesh is built. This time that was not possible:</p>\n\
         <pre>{escaped}</pre>\n<p>Then run the same <code>cargo</code> command again. Everything else works: clients connect to <code>/ws</code>.</p>\n</html>\n"
    );
    format!(
        "const BUILT: bool = false;\nconst FILES: &[(&str, &[u8])] = &[(\"index.html\", {page:?}.as_bytes())];\n"
    )
}
