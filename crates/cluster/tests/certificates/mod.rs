//! Certificates for a test, in a temporary directory.

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::path::PathBuf;

/// Signs certificates.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    directory: tempfile::TempDir,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("signed");
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(directory.path().join("ca.pem"), certificate.pem()).expect("written");
        Self {
            issuer: Issuer::new(params, key),
            directory,
        }
    }

    /// The authority's own certificate.
    pub fn certificate(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// A certificate for this machine, and its key. It serves either side of a link.
    pub fn issue(&self, name: &str) -> (PathBuf, PathBuf) {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).expect("a name and an address");
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed");
        let files = ["pem", "key"].map(|kind| self.directory.path().join(format!("{name}.{kind}")));
        let [certificate_file, key_file] = files;
        std::fs::write(&certificate_file, certificate.pem()).expect("written");
        std::fs::write(&key_file, key.serialize_pem()).expect("written");
        (certificate_file, key_file)
    }
}
