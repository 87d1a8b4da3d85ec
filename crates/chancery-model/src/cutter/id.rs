//! Ids that follow from other ids, so that a signer knows them before the rows exist.

use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The id of a part of something that has an id, as `internal.derived_uuid` makes it: a UUID version 8 whose first six bytes are
/// the whole's and whose rest is from SHA-256 over both names.
pub fn derived_uuid(whole: Uuid, part: &str) -> Uuid {
    let digest = Sha256::digest(format!("chancery.id.v1,{whole},{part}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[..6].copy_from_slice(&whole.as_bytes()[..6]);
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    Uuid::from_bytes(bytes)
}

/// The entry that an idempotency key stands for: a request that is made twice is one entry.
pub fn entry_id(idempotency_key: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("cutter.mark:{idempotency_key}").as_bytes())
}

/// The entry that asks for somebody when an entry cannot be verified at all.
pub fn verification_given_up_id(entry_id: Uuid) -> Uuid {
    derived_uuid(entry_id, "verification_given_up")
}

/// The change set that takes a cut back when its verification fails.
pub fn rollback_id(verify_result_id: Uuid) -> Uuid {
    derived_uuid(verify_result_id, "rollback")
}

/// The entry that a failed verification opens.
pub fn escalation_id(verify_result_id: Uuid) -> Uuid {
    derived_uuid(verify_result_id, "escalation")
}

/// The change set that takes a cut back when its entry is abandoned before it was verified.
pub fn abandonment_id(change_set_id: Uuid) -> Uuid {
    derived_uuid(change_set_id, "abandoned")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_lies_beside_its_whole_and_is_another_one_for_every_name() {
        let whole = Uuid::parse_str("01890000-0000-7000-8000-000000000001").expect("a uuid");
        let part = derived_uuid(whole, "unit,u0001");
        assert_eq!(part.as_bytes()[..6], whole.as_bytes()[..6]);
        assert_eq!(part.get_version_num(), 8);
        assert_eq!(part.get_variant(), uuid::Variant::RFC4122);
        assert_eq!(part, derived_uuid(whole, "unit,u0001"));
        assert_ne!(part, derived_uuid(whole, "unit,u0002"));
        assert_ne!(part, derived_uuid(whole, "version,u0001"));
    }

    #[test]
    fn a_key_stands_for_one_entry() {
        assert_eq!(entry_id("k"), entry_id("k"));
        assert_ne!(entry_id("k"), entry_id("K"));
    }
}
