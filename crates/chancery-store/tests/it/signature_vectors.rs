//! SEC-1: the database judges ed25519 signatures as `verify_strict` does, also those that somebody made to be judged differently.

use chancery_model::envelope;
use chancery_testkit::{TestDb, repo_path, slice};
use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::Scalar;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha512};

/// Key, text and signature, and how they were made.
struct Case {
    how: &'static str,
    key: Vec<u8>,
    message: Vec<u8>,
    signature: Vec<u8>,
}

/// The order of the base point, the least significant byte first.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

fn bytes(random: &mut StdRng) -> [u8; 32] {
    random.r#gen()
}

fn scalar(random: &mut StdRng) -> Scalar {
    Scalar::from_bytes_mod_order(bytes(random))
}

fn torsion(random: &mut StdRng) -> EdwardsPoint {
    EIGHT_TORSION[random.gen_range(0..8)]
}

/// What is signed by R, key and text.
fn challenge(r: &[u8], key: &[u8], message: &[u8]) -> Scalar {
    let digest = Sha512::new().chain_update(r).chain_update(key).chain_update(message).finalize();
    Scalar::from_bytes_mod_order_wide(&digest.into())
}

/// The number plus so many times the order: the same scalar, written in another way.
fn plus_order(s: &[u8], times: u32) -> [u8; 32] {
    let mut sum: [u8; 32] = s.try_into().expect("32 bytes");
    for _ in 0..times {
        let mut carry = 0;
        for (byte, add) in sum.iter_mut().zip(ORDER) {
            let all = u16::from(*byte) + u16::from(add) + carry;
            *byte = all.to_le_bytes()[0];
            carry = all >> 8;
        }
    }
    sum
}

/// An encoding whose ordinate is not below 2^255 - 19, or whose sign says what the point has not.
fn odd_encoding(random: &mut StdRng) -> [u8; 32] {
    let mut encoding = [0xff; 32];
    encoding[0] = random.gen_range(0xec..=0xff);
    encoding[31] = if random.r#gen() { 0x7f } else { 0xff };
    if random.gen_range(0..4) == 0 {
        encoding = [0; 32];
        encoding[0] = random.gen_range(0..3);
        encoding[31] = if random.r#gen() { 0x80 } else { 0 };
    }
    encoding
}

/// R and s that fit a key whose discrete logarithm is `a`, but for what the torsion in R and key does to it.
fn by_hand(
    random: &mut StdRng,
    key: &[u8],
    a: Scalar,
    hidden: EdwardsPoint,
    text: &[u8],
) -> Vec<u8> {
    let r = scalar(random);
    let point = (ED25519_BASEPOINT_POINT * r + hidden).compress();
    let s = r + challenge(point.as_bytes(), key, text) * a;
    [point.as_bytes().as_slice(), s.as_bytes()].concat()
}

fn case(random: &mut StdRng) -> Case {
    let own = SigningKey::from_bytes(&bytes(random));
    let mut key = own.verifying_key().to_bytes().to_vec();
    let mut message: Vec<u8> = (0..random.gen_range(0..200)).map(|_| random.r#gen()).collect();
    let mut signature = own.sign(&message).to_bytes().to_vec();
    let how = match random.gen_range(0..16) {
        0..=3 => "as it should be",
        4 => {
            let bit: usize = random.gen_range(0..512);
            signature[bit / 8] ^= 1 << (bit % 8);
            "a bit of the signature"
        }
        5 => {
            let bit: usize = random.gen_range(0..256);
            key[bit / 8] ^= 1 << (bit % 8);
            "a bit of the key"
        }
        6 => {
            message.push(0);
            "another text"
        }
        7 => {
            let s = plus_order(&signature[32..], random.gen_range(1..8));
            signature[32..].copy_from_slice(&s);
            "s and the order"
        }
        8 => {
            let shapes = [[0; 32], ORDER, [0xff; 32], plus_order(&ORDER, 1)];
            signature[32..].copy_from_slice(&shapes[random.gen_range(0..4)]);
            "s at an edge"
        }
        9 => {
            signature[..32].copy_from_slice(&odd_encoding(random));
            "R in an odd encoding"
        }
        10 => {
            key = odd_encoding(random).to_vec();
            if random.r#gen() {
                signature = by_hand(random, &key, Scalar::ZERO, EIGHT_TORSION[0], &message);
            }
            "a key in an odd encoding"
        }
        11 => {
            // For a key of small order R = s·B fits whenever the challenge is a multiple of that order.
            key = torsion(random).compress().as_bytes().to_vec();
            let hidden = torsion(random);
            signature = by_hand(random, &key, Scalar::ZERO, hidden, &message);
            "a key of small order"
        }
        12 => {
            signature[..32].copy_from_slice(torsion(random).compress().as_bytes());
            let k = challenge(&signature[..32], &key, &message);
            signature[32..].copy_from_slice((k * own.to_scalar()).as_bytes());
            "R of small order"
        }
        13 => {
            let a = scalar(random);
            key = (ED25519_BASEPOINT_POINT * a + torsion(random)).compress().as_bytes().to_vec();
            let hidden = if random.r#gen() { EIGHT_TORSION[0] } else { torsion(random) };
            signature = by_hand(random, &key, a, hidden, &message);
            "torsion in the key"
        }
        14 => {
            let hidden = torsion(random);
            signature = by_hand(random, &key, own.to_scalar(), hidden, &message);
            "torsion in R"
        }
        _ => {
            key = bytes(random).to_vec();
            signature[..32].copy_from_slice(&bytes(random));
            "drawn"
        }
    };
    Case { how, key, message, signature }
}

/// What the library says, without a key in an encoding that is not its own.
fn reference(case: &Case) -> bool {
    let key: [u8; 32] = case.key.as_slice().try_into().expect("32 bytes");
    let signature = Signature::from_slice(&case.signature).expect("64 bytes");
    let own = CompressedEdwardsY(key).decompress().is_some_and(|p| p.compress().0 == key);
    own && VerifyingKey::from_bytes(&key)
        .is_ok_and(|key| key.verify_strict(&case.message, &signature).is_ok())
}

/// What the database says of each.
async fn judged(db: &TestDb, cases: &[Case]) -> Vec<bool> {
    let rows: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(n, c)| {
            let [key, message, signature] = [&c.key, &c.message, &c.signature]
                .map(|b| format!("'\\x{}'::bytea", hex::encode(b)));
            format!("({n}, {key}, {message}, {signature})")
        })
        .collect();
    let told = db
        .texts(&format!(
            "select identity.verify_ed25519(k, m, s)::text from (values {}) c (n, k, m, s) order by n",
            rows.join(", ")
        ))
        .await;
    assert_eq!(told.len(), cases.len());
    told.iter().map(|told| told.as_deref() == Some("true")).collect()
}

/// SEC-1: the database, the model and the library agree on good signatures and on hostile ones.
#[tokio::test]
async fn signatures_are_judged_as_the_library_judges_them() {
    let cases: usize = slice::amount("CHANCERY_TEST_SIGNATURES", 1_000);
    let seed = slice::seed(20_261_119);
    let mut random = StdRng::seed_from_u64(seed);
    let db = TestDb::new().await;
    let (mut good, mut bad) = (0, 0);
    let mut left = cases;
    while left > 0 {
        let some: Vec<Case> = (0..left.min(250)).map(|_| case(&mut random)).collect();
        left -= some.len();
        let told = judged(&db, &some).await;
        for (case, told) in some.iter().zip(told) {
            let expected = reference(case);
            let shown = || {
                let [key, message, signature] =
                    [&case.key, &case.message, &case.signature].map(hex::encode);
                format!("{} (seed {seed}): {key} {message} {signature}", case.how)
            };
            assert_eq!(told, expected, "{}", shown());
            let model = envelope::is_signature(&case.key, &case.message, &case.signature);
            assert_eq!(model, expected, "{}", shown());
            *(if expected { &mut good } else { &mut bad }) += 1;
        }
    }
    assert!(good * 6 > cases && bad * 3 > cases, "{good} good, {bad} bad");
}

/// Vectors of Project Wycheproof: what verifiers of others took that they should not have, and what they should.
fn wycheproof() -> Vec<Case> {
    let set: Value =
        serde_json::from_str(wycheproof::eddsa::TestName::Ed25519.json_data()).expect("JSON");
    let mut cases = Vec::new();
    for group in set["testGroups"].as_array().expect("groups") {
        let key = bytes_of(&group["publicKey"]["pk"]);
        for test in group["tests"].as_array().expect("tests") {
            cases.push(Case {
                how: if test["result"] == "valid" { "valid" } else { "invalid" },
                key: key.clone(),
                message: bytes_of(&test["msg"]),
                signature: bytes_of(&test["sig"]),
            });
        }
    }
    assert_eq!(json!(cases.len()), set["numberOfTests"]);
    cases
}

fn bytes_of(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().expect("a text")).expect("hex")
}

/// SEC-1: the database and the model judge each vector as it says. The browser's tests read the same ones from a file.
#[tokio::test]
async fn the_vectors_of_wycheproof_are_judged_as_they_say() {
    let cases = wycheproof();
    let (valid, invalid): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.how == "valid");
    assert!(valid.len() > 80 && invalid.len() > 60, "{} {}", valid.len(), invalid.len());
    let db = TestDb::new().await;
    let told = judged(&db, &cases).await;
    for (case, told) in cases.iter().zip(told) {
        let expected = case.how == "valid";
        let shown = [&case.key, &case.message, &case.signature].map(hex::encode).join(" ");
        assert_eq!(told, expected, "the database: {shown}");
        let model = envelope::is_signature(&case.key, &case.message, &case.signature);
        assert_eq!(model, expected, "the model: {shown}");
    }

    let rows: Vec<Value> = cases
        .iter()
        .map(|c| {
            json!([
                hex::encode(&c.key),
                hex::encode(&c.message),
                hex::encode(&c.signature),
                c.how == "valid"
            ])
        })
        .collect();
    let rows: Vec<String> = rows.iter().map(Value::to_string).collect();
    let file = format!(
        "{{\"source\":\"Project Wycheproof, ed25519_test.json, Apache-2.0\",\"columns\":[\"key\",\"message\",\"signature\",\"valid\"],\"vectors\":[\n{}\n]}}\n",
        rows.join(",\n")
    );
    let path = repo_path("ui/tests/unit/ed25519-wycheproof.json");
    if slice::asked("INSTA_UPDATE").is_some_and(|how| how == "always") {
        std::fs::write(&path, &file).expect("written");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == file,
        "{} has other vectors; INSTA_UPDATE=always writes them",
        path.display()
    );
}
