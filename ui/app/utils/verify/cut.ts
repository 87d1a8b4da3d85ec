// The plan of a cut, what applying it does, and the texts that are signed about it: built from values alone, as every party builds them.
import { type Json, canonical, canonicalSha256, derivedUuid, sha256Hex } from './bytes.ts'

export interface ManifestUnit {
  localId: string
  address: string
  start: number
  end: number
  sha256: string
  sectionType: string
  title: string
  parent: string | null
}

export interface Manifest {
  documentId: string
  prefix: string
  sourceVersionId: string
  contentSha256: string
  operation: string
  profile: string
  unitKind: string
  publicationType: string
  units: ManifestUnit[]
  digest: string
}

export async function manifestDigest(manifest: Omit<Manifest, 'digest'>): Promise<string> {
  return canonicalSha256({
    content_sha256: manifest.contentSha256, document_id: manifest.documentId, operation: manifest.operation, prefix: manifest.prefix,
    profile: manifest.profile, publication_type: manifest.publicationType, source_version_id: manifest.sourceVersionId,
    unit_kind: manifest.unitKind, v: 1,
    units: manifest.units.map((unit) => ({
      address: unit.address, end: unit.end, local_id: unit.localId, parent: unit.parent, section_type: unit.sectionType, sha256: unit.sha256,
      start: unit.start, title: unit.title,
    })),
  })
}

export interface UnitEffect {
  unitId: string
  versionId: string
  affectedRowId: string
  parentId: string | null
  unit: ManifestUnit
  sortOrder: number
  snapshot: string
  identityProfile: Json
  contentProfile: string
}

export interface Effect {
  changeSetId: string
  owner: string
  units: UnitEffect[]
  effectDigest: string
  writerDigest: string
}

/** What a cut with this manifest makes, row by row. */
export async function effectOf(manifest: Manifest, changeSetId: string, owner: string): Promise<Effect> {
  const addresses = new Map(manifest.units.map((unit) => [unit.localId, unit.address]))
  const lines: string[] = []
  const units: UnitEffect[] = []
  for (const [place, unit] of manifest.units.entries()) {
    const unitId = await derivedUuid(changeSetId, `unit,${unit.localId}`)
    const versionId = await derivedUuid(changeSetId, `version,${unit.localId}`)
    const written = {
      address: unit.address, content_hash: unit.sha256, local_id: unit.localId, owner_ref: owner,
      parent_address: unit.parent === null ? null : (addresses.get(unit.parent) ?? null), publication_type: manifest.publicationType,
      section_type: unit.sectionType, sort_order: place + 1, title: unit.title, unit_kind: manifest.unitKind,
    }
    lines.push(canonical(written))
    const provenance = {
      change_set_id: changeSetId, manifest_digest: manifest.digest, region_sha: manifest.contentSha256,
      source_version_id: manifest.sourceVersionId, span: [unit.start, unit.end], span_sha: unit.sha256,
    }
    units.push({
      unitId, versionId, unit, sortOrder: place + 1,
      affectedRowId: await derivedUuid(changeSetId, `row,${unit.localId}`),
      parentId: unit.parent === null ? null : await derivedUuid(changeSetId, `unit,${unit.parent}`),
      snapshot: canonical({ ...written, unit_id: unitId, version_id: versionId }),
      identityProfile: {
        owner_lookup_ref: owner, primary_section_type_ref: unit.sectionType, provenance, publication_type_ref: manifest.publicationType,
        title: unit.title,
      },
      contentProfile: canonical({ provenance }),
    })
  }
  return {
    changeSetId, owner, units, effectDigest: await snapshotsDigest(units.map((unit) => unit.snapshot)), writerDigest: await snapshotsDigest(lines),
  }
}

export async function snapshotsDigest(snapshots: string[]): Promise<string> {
  return sha256Hex(`[${snapshots.join(',')}]`)
}

export interface ChangeSet {
  changeSetId: string
  entryId: string
  decisionId: string
  manifestDigest: string
  writerDigest: string
  effectDigest: string
  count: number
}

export async function changeSetDigest(set: ChangeSet): Promise<string> {
  return canonicalSha256({
    change_set_id: set.changeSetId, entry_id: set.entryId, review_decision_id: set.decisionId, manifest_digest: set.manifestDigest,
    writer_digest: set.writerDigest, effect_digest: set.effectDigest, unit_count: set.count, v: 1,
  })
}

export function retiredSnapshot(unitId: string): string {
  return canonical({ lifecycle_status: 'retired', unit_id: unitId })
}
