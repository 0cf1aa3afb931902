//! Whose word a client takes for a gateway's name.

use crate::connection::ClientError;
use crate::options::Options;
use std::sync::Arc;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The usual authorities, and the one in the options.
pub fn config(options: &Options, protocols: &[&[u8]]) -> Result<ClientConfig, ClientError> {
    let bad = |why: String| ClientError::Tls(why);
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    if let Some(pem) = &options.authority {
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| bad(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| bad(error.to_string()))?;
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(error.to_string()))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}
