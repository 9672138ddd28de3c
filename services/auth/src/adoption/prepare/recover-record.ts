import type { Kysely } from 'kysely'
import { findUnrecorded } from '../../schema/existing-schema.ts'
import type { AdoptionPlaces, AdoptionRecord } from '../adoption-record.ts'
import { listMadeSince } from '../changes/upstream-changes.ts'
import { findVersion } from '../upstream-tables.ts'

/**
 * The record of a prepared adoption, from what its tables show. Somebody may have restored the schema of the
 * tables alone, such as by `pg_dump --schema=auth`: the copies, the triggers and the record are gone, and
 * columns, indexes and tables are there.
 * @returns undefined where nothing is prepared
 */
export async function recoverRecord(db: Kysely<unknown>, places: AdoptionPlaces): Promise<AdoptionRecord | undefined> {
  if ((await findUnrecorded(db, places.names)) !== 'prepared') return undefined
  const version = await findVersion(db, places.names)
  const changes = await listMadeSince(db, places, version)
  // Nothing says whether the database had pgcrypto before. Undo leaves it.
  return { version, changes, switchedAt: null, finishedAt: null, hadPgcrypto: true }
}
