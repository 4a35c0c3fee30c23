//! The address of a store in PostgreSQL, and how its user proves who it is.

use std::{
    env, fmt, fs,
    net::IpAddr,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::{Fault, PostgresError};

/// The schema of a store whose address names none.
const SCHEMA: &str = "wakeful";

/// The parameter of an address that names the schema. PostgreSQL itself has none for it.
const SCHEMA_PARAMETER: &str = "schema";

/// The time for a connection to one host.
const CONNECT: Duration = Duration::from_secs(5);

/// The address of a store: `postgres://user@host:5432/database?schema=wakeful`. Several hosts,
/// separated by commas, are the servers of one cluster; the one that takes writes is used.
#[derive(Clone)]
pub struct Address(Arc<Inner>);

struct Inner {
    shown: String,
    schema: String,
    hosts: Vec<Config>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.0.shown).finish()
    }
}

impl Address {
    /// Whether a text begins like the address of a store. A path of a file does not.
    #[must_use]
    pub fn is_like(text: &str) -> bool {
        crate::ledger::is_address(text)
    }

    /// The address that a name is; `None` if it is the path of a file.
    ///
    /// # Errors
    /// As [`Address::parse`].
    pub fn of(name: &Path) -> Result<Option<Self>, PostgresError> {
        name.to_str().filter(|text| Self::is_like(text)).map(Self::parse).transpose()
    }

    /// Reads an address. The password comes from the variable `PGPASSWORD`, or from the file that
    /// `PGPASSFILE` names, by default `~/.pgpass`.
    ///
    /// # Errors
    /// If the text is not an address, or has a password.
    pub fn parse(text: &str) -> Result<Self, PostgresError> {
        let failed = |fault| PostgresError { place: hidden(text), fault };
        let wrong = |why: String| failed(Fault::Address { why });
        if !Self::is_like(text) {
            return Err(wrong("it does not begin with `postgres://`".to_owned()));
        }
        let (plain, schema, has_mode) = taken_apart(text).map_err(wrong)?;
        let read = |text: &str| {
            Config::from_str(text).map_err(|why| {
                // Its source says which part.
                let source = std::error::Error::source(&why).map(ToString::to_string);
                wrong(source.unwrap_or_else(|| why.to_string()))
            })
        };
        let config = read(&plain)?;
        if config.get_password().is_some() {
            return Err(failed(Fault::PasswordInAddress));
        }
        if config.get_hosts().is_empty() {
            return Err(wrong("it has no host".to_owned()));
        }
        if config.get_dbname().is_none() {
            return Err(wrong("it has no database".to_owned()));
        }
        let password = password(&config);
        let is_here = config.get_hosts().iter().all(is_here);
        let mut hosts =
            each_host(&plain).iter().map(|one| read(one)).collect::<Result<Vec<_>, _>>()?;
        // Hosts may also be parameters. Then they are tried one after the other.
        if hosts.len() != config.get_hosts().len() || !config.get_hostaddrs().is_empty() {
            hosts = vec![config];
        }
        for config in &mut hosts {
            if let Some(password) = &password {
                config.password(password);
            }
            if !has_mode {
                // Over a network, an address must not lead to plain text unless it says so.
                config.ssl_mode(if is_here { SslMode::Disable } else { SslMode::Require });
            }
            if config.get_connect_timeout().is_none() {
                config.connect_timeout(CONNECT);
            }
            // A standby lags behind, and takes no appends.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
            if config.get_application_name().is_none() {
                config.application_name(concat!("wakeful/", env!("CARGO_PKG_VERSION")));
            }
        }
        Ok(Self(Arc::new(Inner { shown: text.to_owned(), schema, hosts })))
    }

    /// The address as text. It has no password.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.0.shown
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.0.schema
    }

    /// The schema for a statement.
    pub(super) fn quoted_schema(&self) -> String {
        // Its characters are checked, so none must be escaped.
        format!("\"{}\"", self.0.schema)
    }

    /// Its hosts, in their order.
    pub(super) fn hosts(&self) -> &[Config] {
        &self.0.hosts
    }

    /// How connections are encrypted: the certificate of the server must be one that the system
    /// trusts, or that of the file in `PGSSLROOTCERT`.
    pub(super) fn tls(&self) -> Result<MakeRustlsConnect, PostgresError> {
        let failed = |why: String| PostgresError::new(self, Fault::Tls { why });
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|why| failed(why.to_string()))?;
        let config = match env::var_os("PGSSLROOTCERT").filter(|path| !path.is_empty()) {
            None => builder.with_platform_verifier().map_err(|why| failed(why.to_string()))?,
            Some(path) => {
                let path = PathBuf::from(path);
                let unread = |why: String| failed(format!("`{}`: {why}", path.display()));
                let mut roots = RootCertStore::empty();
                let certificates =
                    CertificateDer::pem_file_iter(&path).map_err(|why| unread(why.to_string()))?;
                for certificate in certificates {
                    let certificate = certificate.map_err(|why| unread(why.to_string()))?;
                    roots.add(certificate).map_err(|why| unread(why.to_string()))?;
                }
                if roots.is_empty() {
                    return Err(unread("it has no certificate".to_owned()));
                }
                builder.with_root_certificates(roots)
            }
        };
        Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
    }
}

/// An address for each host of an address.
fn each_host(text: &str) -> Vec<String> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("postgres", text));
    let (authority, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), authority),
    };
    hosts.split(',').map(|host| format!("{scheme}://{user}{host}{tail}")).collect()
}

/// An address without its own parameter, the schema, and whether it says how it is encrypted.
fn taken_apart(text: &str) -> Result<(String, String, bool), String> {
    let Some((before, query)) = text.split_once('?') else {
        return Ok((text.to_owned(), SCHEMA.to_owned(), false));
    };
    let mut schema = None;
    let mut has_mode = false;
    let mut others = Vec::new();
    for part in query.split('&') {
        match part.split_once('=') {
            Some((SCHEMA_PARAMETER, _)) if schema.is_some() => {
                return Err("it names the schema twice".to_owned());
            }
            Some((SCHEMA_PARAMETER, name)) => schema = Some(name),
            other => {
                has_mode |= other.is_some_and(|(name, _)| name == "sslmode");
                others.push(part);
            }
        }
    }
    let schema = schema.unwrap_or(SCHEMA);
    let is_fit = (1..=63).contains(&schema.len())
        && !schema.starts_with(|first: char| first.is_ascii_digit())
        && schema.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_');
    if !is_fit {
        return Err(format!(
            "a schema has up to 63 small letters, digits and `_`, and does not begin with a digit: \
             `{schema}`"
        ));
    }
    let query = others.join("&");
    let plain = if query.is_empty() { before.to_owned() } else { format!("{before}?{query}") };
    Ok((plain, schema.to_owned(), has_mode))
}

/// A text that may be an address with a password, for a message. A parameter can be one too.
fn hidden(text: &str) -> String {
    let text = text.split('?').next().unwrap_or_default();
    let begins = text.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = text.split_at(begins);
    // The password may have an `@` itself.
    let Some((user, host)) = rest.rsplit_once('@') else { return text.to_owned() };
    let user = user.split(':').next().unwrap_or_default();
    format!("{scheme}{user}@{host}")
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// The password of the user, from the places of PostgreSQL's own programs.
fn password(config: &Config) -> Option<String> {
    if let Some(password) = env::var("PGPASSWORD").ok().filter(|it| !it.is_empty()) {
        return Some(password);
    }
    let file = env::var_os("PGPASSFILE").filter(|path| !path.is_empty()).map(PathBuf::from);
    let file = file.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".pgpass")))?;
    if !is_private(&file) {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let host = match config.get_hosts().first()? {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(_) => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let wanted = [&host, &port, config.get_dbname()?, config.get_user()?];
    text.lines().find_map(|line| matching(line, wanted))
}

/// Whether only the user can read a file of passwords. PostgreSQL's programs do not read another.
#[cfg(unix)]
fn is_private(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|found| found.permissions().mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_private(_: &Path) -> bool {
    true
}

/// The password of a line of such a file, `host:port:database:user:password`, if it is about
/// these. `*` is about each, and a backslash stands before a `:` or a backslash.
fn matching(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => fields.last_mut()?.extend(letters.next()),
            ':' if fields.len() < 5 => fields.push(String::new()),
            letter => fields.last_mut()?.push(letter),
        }
    }
    let [of @ .., password] = fields.as_slice() else { return None };
    let is_it = of.len() == 4 && of.iter().zip(wanted).all(|(of, it)| of == "*" || of == it);
    is_it.then(|| password.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        Address::parse(text).expect_err(text).to_string()
    }

    #[test]
    fn an_address_names_hosts_a_database_and_a_schema() {
        let address = Address::parse("postgres://me@10.0.0.7:5433,10.0.0.8/fleet?schema=test_1");
        let address = address.expect("an address");
        assert_eq!(address.schema(), "test_1");
        let hosts: Vec<_> =
            address.hosts().iter().map(|it| (it.get_hosts(), it.get_ports())).collect();
        let [one, other] = ["10.0.0.7", "10.0.0.8"].map(|host| [Host::Tcp(host.to_owned())]);
        assert_eq!(hosts, [(&one[..], &[5433][..]), (&other[..], &[5432][..])]);
        for together in [
            "postgres:///fleet?host=10.0.0.7,10.0.0.8",
            "postgres://h1,h2/f?hostaddr=1.1.1.1,1.1.1.2",
        ] {
            assert_eq!(
                Address::parse(together).expect("an address").hosts().len(),
                1,
                "{together}"
            );
        }
        assert_eq!(address.hosts()[0].get_dbname(), Some("fleet"));
        assert_eq!(address.hosts()[0].get_ssl_mode(), SslMode::Require);
        let here = Address::parse("postgresql://me@localhost/fleet").expect("an address");
        assert_eq!((here.schema(), here.hosts()[0].get_ssl_mode()), ("wakeful", SslMode::Disable));
        let asked = Address::parse("postgres://me@127.0.0.1/fleet?sslmode=require");
        assert_eq!(asked.expect("an address").hosts()[0].get_ssl_mode(), SslMode::Require);
    }

    #[test]
    fn what_is_wrong_with_an_address_is_said_and_no_password_is_shown() {
        for (text, said) in [
            ("agents.sqlite", "does not begin with `postgres://`"),
            ("postgres://me@host", "no database"),
            ("postgres:///fleet", "no host"),
            ("postgres://me@host/fleet?schema=A", "small letters"),
            ("postgres://me@host/fleet?schema=a&schema=b", "twice"),
            ("postgres://me@host/fleet?colour=red", "colour"),
            ("postgres://me@host:port/fleet", "port"),
        ] {
            assert!(fault(text).contains(said), "{text}: {}", fault(text));
        }
        for text in [
            "postgres://me:hunter2@host/fleet",
            "postgres://me:hunter2@host:port/fleet",
            "postgres://me@host/fleet?password=hunter2",
            "postgres://me@host:port/fleet?password=hunter2",
        ] {
            let said = fault(text);
            assert!(!said.contains("hunter2") && said.contains("me@host"), "{said}");
        }
        assert!(fault("postgres://me:hunter2@host/fleet").contains("PGPASSWORD"));
    }

    #[test]
    fn a_file_of_passwords_is_read_as_postgresql_reads_it() {
        let wanted = ["host", "5432", "fleet", "me"];
        for (line, password) in [
            ("host:5432:fleet:me:secret", Some("secret")),
            ("*:*:*:me:a:b", Some("a:b")),
            (r"*:*:*:*:a\:b\\c", Some(r"a:b\c")),
            ("other:5432:fleet:me:secret", None),
            ("# host:5432:fleet:me:secret", None),
            ("host:5432", None),
            ("", None),
        ] {
            assert_eq!(matching(line, wanted).as_deref(), password, "{line}");
        }
    }
}
