import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { adoptOptions } from '../migrations.ts'
import { type AdoptionDeps, findRecord, placesOf } from './adoption-record.ts'
import { recoverRecord } from './prepare/begin-adoption.ts'
import { listClosedSecrets } from './report.ts'

export { adoptCommand, askOn } from './commands/adopt.ts'
export { importCommand } from './commands/import-database.ts'

const DAY_MS = 86_400_000
/** After this many days, a return to supabase/auth is unlikely, so `auth doctor` suggests dropping the old tables. */
const REMINDED_AFTER_DAYS = 30

/**
 * Describes the adoption of the database for `auth doctor`. Uses the connection options of an adoption run, because the database
 * may contain functions and schemas of strangers.
 * @throws Error if the adoption is not finished, or if no key decrypts a secret of supabase/auth
 */
export async function describeAdoption({
  config,
  encryptionKeys,
  now,
}: Omit<AdoptionDeps, 'randomBytes'>): Promise<string> {
  const target = adoptOptions(config)
  const places = placesOf(target.names)
  return withDatabase(target, async (db) => {
    const record = (await findRecord(db, places)) ?? (await recoverRecord(db, places))
    if (record === undefined) return 'nothing to undo'
    if (record.switchedAt === null || record.finishedAt === null) throw new Error('it is not finished')
    const closed = await listClosedSecrets(db, places, encryptionKeys)
    if (closed.length > 0) throw new Error(closed.map(({ what, count }) => `${count} ${what}`).join(', '))
    const days = Math.floor((now().getTime() - new Date(record.switchedAt).getTime()) / DAY_MS)
    return `${days} days ago${days < REMINDED_AFTER_DAYS ? '' : '; auth adopt --forget drops the old tables'}`
  })
}
