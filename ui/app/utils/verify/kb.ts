// A signature under a document of the knowledge base, checked by who reads it.
import { member, parsed, textMember } from './bytes.ts'
import { isSigned } from './check.ts'
import { statementOf } from './statement.ts'

export interface Under {
  signer: string
  meaning: string
  public_key: string
  signature_payload: string
  signature: string
}

/** Whether a signature is over exactly this revision, in its signer's name, and its key made it. */
export async function signatureFits(one: Under, document: { path: string; revision: number; sha256: string }): Promise<boolean> {
  const says = parsed(one.signature_payload)
  const about = textMember(says, 'path') === document.path && member(says, 'revision') === document.revision && textMember(says, 'sha256') === document.sha256
  const by = textMember(says, 'principal') === one.signer && textMember(says, 'meaning') === one.meaning
  const statement = statementOf('kb', one.signature_payload)
  return about && by && !('named' in statement) && isSigned(statement.payloadType, one.signature_payload, one.public_key, one.signature)
}
