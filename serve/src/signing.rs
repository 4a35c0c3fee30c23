//! Signatures of webhooks: those that this server makes (Standard Webhooks), and those that it
//! checks on deliveries to a trigger (Standard Webhooks, GitHub). A message authentication code
//! needs its secret, so secrets are kept in the store as they are.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
    time::{SystemTime, UNIX_EPOCH},
};

use axum::http::HeaderMap;
use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use wakeful_core::{
    id::{AgentId, ExternalTriggerId},
    json,
};
use wakeful_host::ledger::{Store, StoreError};

/// The beginning of a secret, as Standard Webhooks writes it.
const SECRET: &str = "whsec_";

/// The longest time between the signature of a delivery and its arrival, in seconds. After
/// it, a delivery that was overheard cannot be sent again.
const TOLERANCE: u64 = 300;

/// The fewest bytes of a secret.
const FEWEST: usize = 16;

/// The kind of what the store keeps of signatures.
const KEPT: &str = "signature";

/// How the sender of a delivery signs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scheme {
    /// The headers `webhook-id`, `webhook-timestamp` and `webhook-signature`.
    StandardWebhooks,
    /// The header `X-Hub-Signature-256`.
    Github,
}

/// What is checked on deliveries to a trigger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Check {
    pub(crate) scheme: Scheme,
    pub(crate) secret: String,
}

/// A secret with which requests are signed.
pub(crate) fn new_secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{SECRET}{}", STANDARD.encode(bytes)))
}

/// The signature of a request at a time, by Standard Webhooks; `None` if the secret is not one.
pub(crate) fn signature(secret: &str, id: &str, timestamp: u64, body: &[u8]) -> Option<String> {
    let mut mac = keyed(&standard_key(secret)?)?;
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

fn standard_key(secret: &str) -> Option<Vec<u8>> {
    let text = secret.strip_prefix(SECRET).unwrap_or(secret);
    STANDARD.decode(text).ok().filter(|key| key.len() >= FEWEST)
}

fn keyed(key: &[u8]) -> Option<Hmac<Sha256>> {
    <Hmac<Sha256> as Mac>::new_from_slice(key).ok()
}

impl Check {
    /// A check with this secret, or with a new one. The error says why the secret cannot be used.
    pub(crate) fn new(scheme: Scheme, secret: Option<String>) -> Result<Self, String> {
        let Some(secret) = secret else {
            let secret = new_secret().map_err(|why| why.to_string())?;
            return Ok(Self { scheme, secret });
        };
        let is_good = match scheme {
            Scheme::StandardWebhooks => standard_key(&secret).is_some(),
            Scheme::Github => secret.len() >= FEWEST,
        };
        match (is_good, scheme) {
            (true, _) => Ok(Self { scheme, secret }),
            (false, Scheme::StandardWebhooks) => Err(format!(
                "a secret of Standard Webhooks is `{SECRET}` and at least {FEWEST} bytes as base64"
            )),
            (false, Scheme::Github) => Err(format!("a secret has at least {FEWEST} bytes")),
        }
    }

    /// Checks a delivery. The error says what is wrong and what to do.
    pub(crate) fn passes(&self, headers: &HeaderMap, body: &[u8]) -> Result<(), String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.passes_at(now, headers, body)
    }

    fn passes_at(&self, now: u64, headers: &HeaderMap, body: &[u8]) -> Result<(), String> {
        let header = |name: &str| {
            headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .ok_or_else(|| format!("the header `{name}` is missing: sign the delivery"))
        };
        let wrong = || "the signature is wrong: sign with the secret of this trigger".to_owned();
        match self.scheme {
            Scheme::StandardWebhooks => {
                let (id, timestamp) = (header("webhook-id")?, header("webhook-timestamp")?);
                let signed = header("webhook-signature")?;
                let at: u64 = timestamp.parse().map_err(|_| {
                    "`webhook-timestamp` is not a number of seconds since 1970".to_owned()
                })?;
                if now.abs_diff(at) > TOLERANCE {
                    return Err(format!(
                        "the signature is of {timestamp}, more than {TOLERANCE} s from now: sign \
                         it again"
                    ));
                }
                let key = standard_key(&self.secret).ok_or_else(wrong)?;
                // There are several while a sender changes its secret.
                let is_signed = signed.split(' ').any(|one| {
                    let code = one.strip_prefix("v1,").and_then(|it| STANDARD.decode(it).ok());
                    let (Some(code), Some(mut mac)) = (code, keyed(&key)) else { return false };
                    mac.update(format!("{id}.{timestamp}.").as_bytes());
                    mac.update(body);
                    mac.verify_slice(&code).is_ok()
                });
                is_signed.then_some(()).ok_or_else(wrong)
            }
            Scheme::Github => {
                let signed = header("x-hub-signature-256")?;
                let code = signed.strip_prefix("sha256=").and_then(crate::agents::digest);
                let mac = keyed(self.secret.as_bytes()).map(|mut mac| {
                    mac.update(body);
                    mac
                });
                let (Some(code), Some(mac)) = (code, mac) else { return Err(wrong()) };
                mac.verify_slice(&code).map_err(|_| wrong())
            }
        }
    }
}

/// The checks of a server, by agent and trigger.
#[derive(Default)]
pub(crate) struct Checks(RwLock<HashMap<String, Arc<Check>>>);

/// The name of a trigger among all of a store.
fn name(agent: &AgentId, trigger: &ExternalTriggerId) -> String {
    json::write(&[agent.as_str(), trigger.as_str()])
}

impl Checks {
    /// Reads the checks again. One that cannot be read lets nothing pass.
    pub(crate) fn read(&self, store: &Store) -> Result<(), StoreError> {
        let unreadable = || Check { scheme: Scheme::StandardWebhooks, secret: String::new() };
        let kept = store.kept(KEPT)?.into_iter().map(|(name, text)| {
            (name, Arc::new(serde_json::from_str(&text).unwrap_or_else(|_| unreadable())))
        });
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = kept.collect();
        Ok(())
    }

    /// The check of a trigger; `None` if its deliveries need no signature.
    pub(crate) fn of(&self, agent: &AgentId, trigger: &ExternalTriggerId) -> Option<Arc<Check>> {
        let checks = self.0.read().unwrap_or_else(PoisonError::into_inner);
        checks.get(&name(agent, trigger)).cloned()
    }

    pub(crate) fn put(
        &self,
        store: &Store,
        agent: &AgentId,
        trigger: &ExternalTriggerId,
        check: &Check,
    ) -> Result<(), StoreError> {
        store.keep(KEPT, &name(agent, trigger), &json::write(check))?;
        self.read(store)
    }

    /// Ends the check of a trigger. Returns whether there was one.
    pub(crate) fn forget(
        &self,
        store: &Store,
        agent: &AgentId,
        trigger: &ExternalTriggerId,
    ) -> Result<bool, StoreError> {
        let was_there = store.forget(KEPT, &name(agent, trigger))?;
        self.read(store)?;
        Ok(was_there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const AT: u64 = 1_614_265_330;

    fn headers(named: &[(&'static str, &str)]) -> HeaderMap {
        named
            .iter()
            .map(|(name, value)| {
                ((*name).parse().expect("a name"), value.parse().expect("a value"))
            })
            .collect()
    }

    #[test]
    fn a_request_is_signed_as_the_specification_does() {
        // The example of the Standard Webhooks libraries.
        let signed = signature(KEY, ID, AT, BODY);
        assert_eq!(signed.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assert_eq!(signature("whsec_", ID, AT, BODY), None);
    }

    #[test]
    fn only_a_signature_of_this_body_at_this_time_passes() {
        let check = Check::new(Scheme::StandardWebhooks, Some(KEY.into())).expect("a secret");
        let good = signature(KEY, ID, AT, BODY).expect("a signature");
        let timestamp = AT.to_string();
        let of = |signature: &str| {
            headers(&[
                ("webhook-id", ID),
                ("webhook-timestamp", &timestamp),
                ("webhook-signature", signature),
            ])
        };
        assert_eq!(check.passes_at(AT + 299, &of(&good), BODY), Ok(()));
        assert_eq!(check.passes_at(AT, &of(&format!("v1,AAAA v2,x {good}")), BODY), Ok(()));
        for (now, headers, body) in [
            (AT + 301, of(&good), BODY),
            (AT - 301, of(&good), BODY),
            (AT, of(&good), &BODY[1..]),
            (AT, of("v1,AAAA"), BODY),
            (AT, of(""), BODY),
            (AT, HeaderMap::new(), BODY),
        ] {
            assert!(check.passes_at(now, &headers, body).is_err(), "{now} {headers:?}");
        }
    }

    #[test]
    fn a_signature_of_github_passes() {
        // The example of GitHub's documentation.
        let check = Check::new(Scheme::Github, Some("It's a Secret to Everybody".into()));
        let check = check.expect("a secret");
        let signed = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let of = |signed: &str| headers(&[("x-hub-signature-256", signed)]);
        assert_eq!(check.passes_at(0, &of(signed), b"Hello, World!"), Ok(()));
        assert!(check.passes_at(0, &of(signed), b"Hello, World").is_err());
        assert!(check.passes_at(0, &of(&signed[7..]), b"Hello, World!").is_err());
        assert!(Check::new(Scheme::Github, Some("short".into())).is_err());
        assert!(Check::new(Scheme::StandardWebhooks, Some("whsec_%".into())).is_err());
    }
}
