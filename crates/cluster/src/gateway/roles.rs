//! Who may do what.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What someone may do. Who may do more may do less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientRole {
    /// Look, and ask what a ray hits.
    View,
    /// Spawn, and push and remove what one has spawned.
    Play,
    /// Everything.
    Admin,
}

impl ClientRole {
    /// Its number on the wire.
    pub fn number(self) -> u8 {
        self as u8
    }

    fn of_name(name: &str) -> Option<Self> {
        match name {
            "view" => Some(Self::View),
            "play" => Some(Self::Play),
            "admin" => Some(Self::Admin),
            _ => None,
        }
    }
}

/// Someone who may connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// What they may do.
    pub role: ClientRole,
    /// Who they are: what they spawned stays theirs when they connect again.
    pub player: usize,
    /// What people call them.
    pub name: String,
}

/// All tokens.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// Hashes: comparing them takes the same time wherever they differ, and tells nothing about the token.
    known: Option<Vec<(blake3::Hash, Guest)>>,
}

/// Why tokens cannot be used.
#[derive(Debug, Error)]
pub enum TokensError {
    /// The file cannot be read.
    #[error("cannot read the tokens in {0}: {1}")]
    Io(PathBuf, io::Error),
    /// A line makes no sense. (The line itself may be a secret and is not shown.)
    #[error("line {line} of the tokens: {why}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// Nobody would be asked for a token, and others can connect.
    #[error("{0} can be reached from other machines: a file with tokens is needed")]
    OpenToAll(SocketAddr),
}

/// A shorter one could be guessed.
const SHORTEST_TOKEN: usize = 8;

impl Tokens {
    /// From the file, if there is one. Without, only this machine may be listened to.
    pub fn load(file: Option<&Path>, bind: SocketAddr) -> Result<Self, TokensError> {
        match file {
            Some(file) => {
                let text = std::fs::read_to_string(file);
                let text = text.map_err(|error| TokensError::Io(file.to_owned(), error))?;
                Self::parse(&text)
            }
            None if bind.ip().is_loopback() => Ok(Self { known: None }),
            None => Err(TokensError::OpenToAll(bind)),
        }
    }

    /// From lines `token role [name]`; empty ones and those that begin with `#` do not count.
    pub fn parse(text: &str) -> Result<Self, TokensError> {
        let mut known: Vec<(blake3::Hash, Guest)> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bad = |why| TokensError::Line {
                line: index + 1,
                why,
            };
            let mut words = line.split_whitespace();
            let token = words.next().unwrap_or_default();
            if token.len() < SHORTEST_TOKEN {
                return Err(bad("the token is too short: at least 8 characters"));
            }
            let role = words.next().and_then(ClientRole::of_name);
            let role = role.ok_or_else(|| bad("the role is view, play or admin"))?;
            let hash = blake3::hash(token.as_bytes());
            if known.iter().any(|(other, _)| *other == hash) {
                return Err(bad("the token stands there twice"));
            }
            let player = known.len();
            let name: Vec<&str> = words.collect();
            let name = match name.join(" ") {
                name if name.is_empty() => format!("player {player}"),
                name => name,
            };
            known.push((hash, Guest { role, player, name }));
        }
        Ok(Self { known: Some(known) })
    }

    /// Is everyone let in?
    pub fn are_needed(&self) -> bool {
        self.known.is_some()
    }

    /// Whose token this is.
    pub fn guest(&self, token: &str) -> Option<Guest> {
        let Some(known) = &self.known else {
            return Some(Guest {
                role: ClientRole::Admin,
                player: 0,
                name: "anyone".to_owned(),
            });
        };
        let hash = blake3::hash(token.as_bytes());
        // All are compared, so that the time tells nothing about the place either.
        let mut found = None;
        for (other, guest) in known {
            if *other == hash {
                found = Some(guest);
            }
        }
        found.cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_roles_and_nothing_else_opens_the_door() {
        let text = "# ours\n\nsecret-viewer view\nsecret-player play Ada L.\nsecret-admin admin\n";
        let tokens = Tokens::parse(text).expect("sound");
        let role = |token: &str| tokens.guest(token).map(|guest| guest.role);
        assert_eq!(role("secret-viewer"), Some(ClientRole::View));
        assert_eq!(role("secret-player"), Some(ClientRole::Play));
        assert_eq!(role("secret-admin"), Some(ClientRole::Admin));
        assert_eq!(tokens.guest("secret-player").expect("in").name, "Ada L.");
        for wrong in ["", "#", "secret", "secret-viewe", "secret-viewer "] {
            assert_eq!(role(wrong), None);
        }
        assert!(ClientRole::View < ClientRole::Play && ClientRole::Play < ClientRole::Admin);
    }

    #[test]
    fn bad_lines_are_named_but_not_shown() {
        for (text, line) in [
            ("good-token view\nsecret-two king", 2),
            ("short view", 1),
            ("good-token view\ngood-token admin", 2),
            ("only-a-token", 1),
        ] {
            let error = Tokens::parse(text).expect_err("bad").to_string();
            assert!(error.contains(&format!("line {line}")), "{error}");
            assert!(!error.contains("secret-two"), "{error}");
        }
    }

    /// Without tokens everyone may do everything: never for other machines.
    #[test]
    fn without_tokens_only_this_machine_is_listened_to() {
        let here = Tokens::load(None, "127.0.0.1:80".parse().expect("an address"));
        let guest = here.expect("fine").guest("").expect("everyone");
        assert_eq!(guest.role, ClientRole::Admin);
        assert!(Tokens::load(None, "0.0.0.0:80".parse().expect("an address")).is_err());
    }
}
