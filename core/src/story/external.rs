//! The words about external triggers (contract 15). A script has them, and a provider's turn too.
//!
//! A story keeps no secrets: the token of a trigger is a word of the story, and the trigger's own
//! id if the story says none. Its hash is the one that hosts keep, so `wakeful send deliver` works
//! with it.

use alloc::string::String;
use core::fmt::Write;

use sha2::{Digest, Sha256};

use crate::{
    fact::{
        Fact,
        ingress::{
            ExternalTriggerCreated, ExternalTriggerDelivered, ExternalTriggerNamed,
            ExternalTriggerRotated, TokenHash,
        },
    },
    id::{DeliveryId, ExternalTriggerId, WorkItemId},
    record::{ingress::ExternalTrust, queue::envelope::MessageBody, waiting::CallbackDeliveryMode},
};

/// Reads the words about external triggers from the fields of a line or a move.
macro_rules! trigger_words {
    ($Fields:ident => $Read:ident) => {
        impl $Fields {
            fn on_triggers(
                &mut self,
            ) -> Option<core::result::Result<$Read, alloc::string::String>> {
                use $crate::story::external;

                let (verb, fact) = if let Some(id) = self.create_trigger.take() {
                    let said = external::Said {
                        item: self.item.take(),
                        what: self.what.take(),
                        mode: self.mode.take(),
                        trust: self.trust.take(),
                        once: self.once.take(),
                        expires_ms: self.expires_ms.take(),
                        token: self.token.take(),
                    };
                    ("create_trigger", external::created(id, said))
                } else if let Some(id) = self.rotate_trigger.take() {
                    let Some(token) = self.token.take() else {
                        return Some(Err("`rotate_trigger` needs `token`: the new one".into()));
                    };
                    ("rotate_trigger", external::rotated(id, &token))
                } else {
                    ("revoke_trigger", external::revoked(self.revoke_trigger.take()?))
                };
                Some(self.done(verb, $Read::Operation(alloc::boxed::Box::new(fact))))
            }
        }
    };
}

pub(super) use trigger_words;

/// What a story says of a trigger that it makes. What it does not say has the default of
/// `wakeful trigger create`.
#[derive(Default)]
pub(super) struct Said {
    pub(super) item: Option<WorkItemId>,
    pub(super) what: Option<String>,
    pub(super) mode: Option<CallbackDeliveryMode>,
    pub(super) trust: Option<ExternalTrust>,
    pub(super) once: Option<bool>,
    pub(super) expires_ms: Option<u64>,
    pub(super) token: Option<String>,
}

/// The fact of a new trigger.
pub(super) fn created(external_trigger_id: ExternalTriggerId, said: Said) -> Fact {
    let token = said.token.as_deref().unwrap_or(external_trigger_id.as_str());
    Fact::ExternalTriggerCreated(ExternalTriggerCreated {
        token_hash: hash(token),
        work_item_id: said.item,
        description: said.what.unwrap_or_else(|| external_trigger_id.as_str().into()),
        delivery_mode: said.mode.unwrap_or(CallbackDeliveryMode::WakeHint),
        trust: said.trust.unwrap_or(ExternalTrust::UntrustedExternal),
        one_shot: said.once.unwrap_or_default(),
        expires_at: None,
        expires_in_ms: said.expires_ms,
        external_trigger_id,
    })
}

/// The fact that a trigger has another token.
pub(super) fn rotated(external_trigger_id: ExternalTriggerId, token: &str) -> Fact {
    let token_hash = hash(token);
    Fact::ExternalTriggerRotated(ExternalTriggerRotated { external_trigger_id, token_hash })
}

/// The fact that a trigger is revoked.
pub(super) fn revoked(external_trigger_id: ExternalTriggerId) -> Fact {
    Fact::ExternalTriggerRevoked(ExternalTriggerNamed { external_trigger_id })
}

/// The fact of a delivery with a token.
pub(super) fn delivered(
    external_trigger_id: ExternalTriggerId,
    token: &str,
    delivery_id: DeliveryId,
    text: Option<&str>,
) -> Fact {
    Fact::ExternalTriggerDelivered(ExternalTriggerDelivered {
        external_trigger_id,
        token_hash: hash(token),
        delivery_id,
        content: text.map(MessageBody::text),
        content_type: None,
        source: None,
        event_type: None,
    })
}

/// The trigger that a fact makes.
pub(super) fn made(fact: &Fact) -> Option<&ExternalTriggerId> {
    match fact {
        Fact::ExternalTriggerCreated(created) => Some(&created.external_trigger_id),
        _ => None,
    }
}

/// The hash of a token: SHA-256, as hosts keep it.
fn hash(token: &str) -> TokenHash {
    let mut digits = String::new();
    for byte in Sha256::digest(token.as_bytes()) {
        // Writing into memory cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    // INVARIANT: the digest has 32 bytes, so these are 64 digits.
    TokenHash::parse(&digits).unwrap_or_else(|| unreachable!("{digits}"))
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn a_token_of_a_story_has_the_hash_that_hosts_keep() {
        assert_eq!(
            hash("abc").as_str(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
