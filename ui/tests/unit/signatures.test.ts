// SEC-1: the reader in the browser judges signatures as strictly as the database does.
import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { fromHex } from '../../app/utils/verify/bytes.ts'
import { isSigned, preAuthenticationEncoding, verifies } from '../../app/utils/verify/check.ts'

const TYPE = 'application/vnd.chancery.approval.v1+json'
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const encoded = (number: bigint) => Buffer.from(number.toString(16).padStart(64, '0'), 'hex').reverse()

const pair = generateKeyPairSync('ed25519')
const key = (pair.publicKey.export({ format: 'der', type: 'spki' }) as Buffer).subarray(-32)
const good = sign(null, preAuthenticationEncoding(TYPE, 'yes'), pair.privateKey)

test('what the key signed is signed, and nothing else is', async () => {
  assert.equal(await isSigned(TYPE, 'yes', hex(key), hex(good)), true)
  assert.equal(await isSigned(TYPE, 'no', hex(key), hex(good)), false)
  assert.equal(await isSigned('application/vnd.chancery.kb.v1+json', 'yes', hex(key), hex(good)), false)
  assert.equal(await isSigned(TYPE, 'yes', hex(key), '00'.repeat(64)), false)
  assert.equal(await isSigned(TYPE, 'yes', hex(key), hex(good.subarray(0, 32))), false)
})

/** A browser that finds everything good: what is refused nevertheless is refused by us. */
function credulous(t: TestContext) {
  t.mock.method(crypto.subtle, 'importKey', async () => ({}))
  t.mock.method(crypto.subtle, 'verify', async () => true)
}

test('a key of small order signs nothing, in whichever encoding', async (t) => {
  credulous(t)
  assert.equal(await isSigned(TYPE, 'yes', hex(key), hex(good)), true)
  const prime = 2n ** 255n - 19n
  const ordinates = [
    0n, 1n, prime - 1n, prime, prime + 1n, 2707385501144840649318225287225658788936804267575313519463743609750303402022n,
    55188659117513257062467267217118295137698188065244968500265048394206261417927n,
  ]
  for (const y of ordinates.flatMap((one) => [one, one + 2n ** 255n])) {
    const weak = encoded(y)
    // R is the key and s is 0: for the point (0, 1) that is good whatever the text, for a verifier that takes such keys.
    for (let n = 0; n < 16; n++) assert.equal(await isSigned(TYPE, `text ${n}`, hex(weak), hex(weak) + '00'.repeat(32)), false, hex(weak))
    assert.equal(await isSigned(TYPE, 'yes', hex(key), hex(weak) + hex(good.subarray(32))), false)
  }
})

test('a number that was written in another way is not the same signature', async (t) => {
  credulous(t)
  const s = good.subarray(32).reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n)
  assert.equal(await isSigned(TYPE, 'yes', hex(key), hex(good.subarray(0, 32)) + hex(encoded(s + ORDER))), false)
})

test('the vectors of Wycheproof are judged as they say', async () => {
  // The database and the command line are held to the same file by chancery-store::signature_vectors.
  const file = JSON.parse(readFileSync(new URL('ed25519-wycheproof.json', import.meta.url), 'utf8')) as { vectors: [string, string, string, boolean][] }
  assert.ok(file.vectors.length > 140)
  for (const [key, message, signature, valid] of file.vectors) {
    assert.equal(await verifies(fromHex(key), fromHex(message)!, fromHex(signature)), valid, `${key} ${message} ${signature}`)
  }
})
