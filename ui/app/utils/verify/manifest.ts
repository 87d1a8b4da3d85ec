// Plans: the rows of a manifest against its source, byte for byte.
import { sha256Hex } from './bytes.ts'
import type { Checker } from './check.ts'
import { type Manifest, type ManifestUnit, manifestDigest } from './cut.ts'
import type { Row } from './rows.ts'
import * as t from './tables.ts'

/** A source is what its hash and its length say. */
export async function sourceHolds(checker: Checker, source: Row) {
  const body = source.bytes('body') ?? new Uint8Array()
  checker.expect(source, 'source_is_its_bytes', { content_sha256: await sha256Hex(body), byte_length: String(body.length) })
  if (checker.rows.one(t.DOCUMENT, 'document_id', source.text('document_id')) === undefined) checker.wrong(source, 'source_has_a_document')
}

/** The manifest that the rows hold, when they hold one: a partition of its source, with the digest its header says. */
export async function manifestOf(checker: Checker, envelope: Row): Promise<Manifest | undefined> {
  const rule = 'manifest_is_its_units'
  const blocks = checker.rows.of(t.BLOCK, 'envelope_id', envelope.text('envelope_id'))
  const source = checker.rows.one(t.SOURCE, 'source_version_id', envelope.text('source_version_id'))
  if (source === undefined) {
    checker.wrong(envelope, rule, { table: t.SOURCE, row: envelope.text('source_version_id') })
    return undefined
  }
  const prefix = checker.rows.one(t.DOCUMENT, 'document_id', source.text('document_id'))?.text('address_docprefix') ?? ''
  checker.expect(envelope, rule, {
    document_id: source.opt('document_id'), region_sha: source.opt('content_sha256'), unit_count: String(blocks.length), operation_kind: 'first_cut',
  })
  const units = await partition(checker, blocks, source.bytes('body') ?? new Uint8Array(), prefix)
  const contentSha256 = envelope.sha('region_sha')
  if (units === undefined || contentSha256 === undefined) return undefined
  const plan = {
    documentId: envelope.text('document_id'), prefix, sourceVersionId: envelope.id('source_version_id'), contentSha256,
    operation: envelope.text('operation_kind'), profile: envelope.text('profile'), unitKind: envelope.text('unit_kind'),
    publicationType: envelope.text('publication_type'), units,
  }
  const digest = await manifestDigest(plan)
  checker.expect(envelope, rule, { manifest_digest: digest })
  return { ...plan, digest }
}

/** The units of a plan: joined, their regions are the source. */
async function partition(checker: Checker, blocks: Row[], body: Uint8Array<ArrayBuffer>, prefix: string): Promise<ManifestUnit[] | undefined> {
  const rule = 'units_partition_their_source'
  const units: ManifestUnit[] = []
  const known = new Set<string>()
  const addresses = new Set<string>()
  let at = 0
  let whole = true
  for (const [place, block] of blocks.entries()) {
    checker.expect(block, rule, { render_order: String(place + 1), block_role: 'result' })
    const [start, end, sha256] = [block.number('span_start'), block.number('span_end'), block.sha('region_sha')]
    if (start === undefined || end === undefined || sha256 === undefined) {
      checker.wrong(block, rule, { column: 'region_sha' })
      return undefined
    }
    const address = block.text('proposed_canonical_address')
    const parent = block.opt('parent_local_id')
    const inside = start >= 0 && start < end && end <= body.length
    let wrong: Record<string, string> | undefined
    if (start !== at) wrong = { column: 'span_start', found: String(start), expected: String(at) }
    else if (!inside) wrong = { column: 'span_end', found: String(end), expected: `≤ ${body.length}` }
    else if ((await sha256Hex(body.slice(start, end))) !== sha256) wrong = { column: 'region_sha', found: sha256, expected: await sha256Hex(body.slice(start, end)) }
    else if (!address.startsWith(`${prefix}/`)) wrong = { column: 'proposed_canonical_address', found: address, expected: `${prefix}/…` }
    else if (addresses.has(address)) wrong = { column: 'proposed_canonical_address', found: `${address} ×2` }
    else if (parent !== null && !known.has(parent)) wrong = { column: 'parent_local_id', found: parent }
    if (wrong !== undefined) {
      checker.wrong(block, rule, wrong)
      whole = false
    }
    addresses.add(address)
    known.add(block.text('unit_local_id'))
    at = end
    units.push({
      localId: block.text('unit_local_id'), address, start, end, sha256, sectionType: block.text('section_type'), title: block.text('title'), parent,
    })
  }
  const last = blocks.at(-1)
  if (whole && last !== undefined && at !== body.length) checker.wrong(last, rule, { column: 'span_end', found: String(at), expected: String(body.length) })
  return units
}
