import { underLock } from '@trestle/database/migrations/migration-connection.ts'
import { hasSwitched, placesOf } from '../adoption/adoption-record.ts'
import { type AdoptionRun, beginAdoption, prepareSwitch, withoutOtherRuns } from '../adoption/prepare/begin-adoption.ts'
import { switchDepsOf } from '../adoption/switch/switch-tables.ts'
import { adoptOptions, createJobQueue } from '../migrations.ts'
import type { AdoptDatabaseDeps } from './adopt-database.ts'

/**
 * Does everything of an adoption that may take long, while the old service serves, and stops before the switch. `adoptDatabase`
 * takes seconds afterwards.
 * @returns false where an earlier run has switched: nothing is left to prepare
 * @throws Error where the database cannot be adopted, and while another run is at work
 */
export function prepareAdoption(deps: AdoptDatabaseDeps, run: AdoptionRun): Promise<boolean> {
  const target = adoptOptions(deps.config)
  const places = placesOf(target.names)
  return withoutOtherRuns(target, async () => {
    await beginAdoption(target, deps.config.database.role, run)
    return underLock(target, async (db) => {
      if (await hasSwitched(db, places)) return false
      await createJobQueue(db, deps.config)
      await prepareSwitch(db, switchDepsOf(deps, places), run)
      return true
    })
  })
}
