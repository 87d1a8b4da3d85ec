// Private keys of this browser. They are made not extractable and kept as they are, so no script can read them, only sign with them.
import { uuidOf } from './ids.ts'
import { type Json, canonical, toHex } from './verify/bytes.ts'
import { preAuthenticationEncoding } from './verify/check.ts'

export interface StoredKey {
  publicKey: string
  principal: string
  privateKey: CryptoKey
  madeAt: string
}

const DATABASE = 'chancery'
const STORE = 'keys'

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const asked = indexedDB.open(DATABASE, 1)
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE, { keyPath: 'publicKey' })
    asked.onsuccess = () => resolve(asked.result)
    asked.onerror = () => reject(asked.error ?? new Error('no database'))
  })
}

async function inStore<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await open()
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = database.transaction(STORE, mode)
      const asked = work(transaction.objectStore(STORE))
      transaction.oncomplete = () => resolve(asked.result)
      transaction.onerror = () => reject(transaction.error ?? new Error('not kept'))
    })
  } finally {
    database.close()
  }
}

export const storedKeys = () => inStore<StoredKey[]>('readonly', (store) => store.getAll())
export const dropKey = (publicKey: string) => inStore('readwrite', (store) => store.delete(publicKey))

async function signed(key: StoredKey, statement: Json): Promise<string> {
  const encoded = preAuthenticationEncoding('application/vnd.chancery.key.v1+json', canonical(statement))
  return toHex(new Uint8Array(await crypto.subtle.sign('Ed25519', key.privateKey, encoded)))
}

/** What a new key signs: whose it is. The server takes no key that did not. */
export const possessionOf = (key: StoredKey) =>
  signed(key, { domain: 'chancery.key.v1', meaning: 'this key is mine', principal: key.principal, public_key: key.publicKey })

/** What an old key signs for the one that takes its place: then no operator is needed. */
export const replacementOf = (old: StoredKey, oldKeyId: string, key: StoredKey) =>
  signed(old, { domain: 'chancery.key.v1', meaning: 'this key replaces mine', old_key_id: uuidOf(oldKeyId), principal: old.principal, public_key: key.publicKey })

export async function makeKey(principal: string): Promise<StoredKey> {
  const pair = (await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify'])) as CryptoKeyPair
  const raw = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey))
  const key: StoredKey = {
    publicKey: Array.from(raw, (byte) => byte.toString(16).padStart(2, '0')).join(''),
    principal,
    privateKey: pair.privateKey,
    madeAt: new Date().toISOString(),
  }
  await inStore('readwrite', (store) => store.put(key))
  return key
}
