import { underLock } from '@trestle/database/migrations/migration-connection.ts'
import { dropAdoption, findRecord, placesOf } from '../adoption/adoption-record.ts'
import type { AuthDeps } from '../deps.ts'
import { adoptOptions } from '../migrations.ts'

/**
 * Drops what undo needs: the tables of supabase/auth that have moved, with everything in them. Until an adoption is finished, the
 * entries of the audit log may be there alone.
 * @throws Error where nothing was adopted, or the adoption is not finished
 */
export async function forgetAdoption({ config }: Pick<AuthDeps, 'config'>): Promise<void> {
  const { url, names } = adoptOptions(config)
  const places = placesOf(names)
  await underLock({ url, names }, async (db) => {
    const record = await findRecord(db, places)
    if (record === undefined) throw new Error(`the schema ${places.kept} is not there: there is nothing to forget`)
    if (record.finishedAt === null)
      throw new Error('the adoption is not finished: run auth adopt again, or adopt --undo')
    await db.transaction().execute((trx) => dropAdoption(trx, places))
  })
}
