//! Whom to trust: one setting for timed requests, model listing, metrics scrape and download alike.
//!
//! The system's certificates, plus those of a file, or nobody's at all (`--insecure`). A certificate given in the file
//! is also trusted as the server's own, whatever names it states: people hand over the self-signed certificate that their
//! server shows, whether or not it calls itself an authority.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// What the user said about certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// Accept any certificate.
    pub insecure: bool,
    /// PEM file of further certificates to trust.
    pub ca: Option<PathBuf>,
}

/// Certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file cannot be read, or is no PEM.
    #[error("cannot read certificates from {}: {why}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The file holds no certificate.
    #[error("{} holds no certificate; expected PEM blocks `-----BEGIN CERTIFICATE-----`", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// The TLS library refuses.
    #[error("TLS cannot be set up: {0}")]
    Setup(String),
}

impl TlsOptions {
    /// The TLS library's configuration. Reads the system's certificates, so it is made once.
    ///
    /// # Errors
    /// When the file has no usable certificates.
    pub fn client_config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = self.verifier(&provider)?;
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Setup(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Verifier, TlsError> {
        let algorithms = provider.signature_verification_algorithms;
        if self.insecure {
            let trust = Trust::Anyone;
            return Ok(Verifier { algorithms, trust });
        }
        let given = match &self.ca {
            Some(path) => certificates(path)?,
            None => Vec::new(),
        };
        let mut roots = RootCertStore::empty();
        // A system without certificates is no error: the file may be all that is needed, or there is no TLS at all.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.add_parsable_certificates(given.iter().cloned());
        let chains = if roots.is_empty() {
            None
        } else {
            let built =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
            Some(built.map_err(|error| TlsError::Setup(error.to_string()))?)
        };
        let trust = Trust::Known { chains, given };
        Ok(Verifier { algorithms, trust })
    }
}

/// What to do about a connection that failed with this error, to be put behind its text; empty when it is not the certificate's fault.
pub fn hint(error: &io::Error) -> &'static str {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner {
        Some(rustls::Error::InvalidCertificate(_)) => {
            "; hint: name the certificate to trust with --ca, or trust any with --insecure"
        }
        _ => "",
    }
}

#[derive(Debug)]
struct Verifier {
    algorithms: WebPkiSupportedAlgorithms,
    trust: Trust,
}

#[derive(Debug)]
enum Trust {
    Anyone,
    Known {
        /// Checks the chain against the system's certificates and the given ones.
        chains: Option<Arc<WebPkiServerVerifier>>,
        /// Accepted as the server's own, too.
        given: Vec<CertificateDer<'static>>,
    },
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Trust::Known { chains, given } = &self.trust else {
            return Ok(ServerCertVerified::assertion());
        };
        if given.iter().any(|certificate| certificate == shown) {
            return Ok(ServerCertVerified::assertion());
        }
        match chains {
            Some(chains) => chains.verify_server_cert(shown, intermediates, name, ocsp, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |error: rustls::pki_types::pem::Error| TlsError::CaFile {
        path: path.to_owned(),
        why: error.to_string(),
    };
    let found = CertificateDer::pem_file_iter(path)
        .map_err(failed)?
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    if found.is_empty() {
        return Err(TlsError::NoCertificate {
            path: path.to_owned(),
        });
    }
    Ok(found)
}
