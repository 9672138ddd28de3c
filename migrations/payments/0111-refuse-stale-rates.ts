// Why: a live charge at a rate that is too old was reserved on the customer's card and could never be captured.
import type { Kysely } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { anySpacing, editFunction } from './edit-function.ts'

/** The rule of a capture. Versions before this one tell no age, so their charges are judged as before. */
function edits(names: Names) {
  const exchange = `"${names.schema}"."${names.prefix}exchange"`
  const refusal = "WHEN NOT FOUND THEN 'no-rate'"
  const request = "'charge', p_charge ||"
  const stale = `${refusal}
        WHEN NOT merchant.test AND (
          SELECT x.rate_date FROM ${exchange}(1, p_charge ->> 'currency', merchant.currency, current_date, 0) x
        ) < current_date - (p_charge ->> 'rateAgeDaysMax')::int THEN 'stale-rate'`
  return [
    { name: 'charge_begin', before: refusal, after: stale },
    { name: 'charge_begin', before: request, after: "'charge', p_charge - 'rateAgeDaysMax' ||" },
  ] as const
}

export const refuseStaleRates: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    for (const { name, before, after } of edits(names)) {
      await editFunction(db, names, { name, from: anySpacing(before), to: after })
    }
  },
  async down(db: Kysely<unknown>) {
    for (const { name, before, after } of edits(names)) {
      await editFunction(db, names, { name, from: anySpacing(after), to: before })
    }
  },
})
