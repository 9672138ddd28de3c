import { stat } from 'node:fs/promises'
import { readText } from '@trestle/common/config/environment.ts'
import type { Command } from 'commander'
import { z } from 'zod'
import { hasEnded, isCurrency } from '../money/currencies.ts'
import { readEcbRates } from '../money/ecb-rates.ts'
import { listRatesOfDay, upsertEcbRates } from '../money/rate-repository.ts'
import { insertOperatorAudit } from '../operators/operator-audit-repository.ts'
import { commandGroup, type Operator, type OperatorCommand } from './operator-command.ts'

/** The limit for a file of rates. The file with all rates since 1999 had 8.2 MB in 2026. */
const BYTES_MAX = 64 * 1_024 * 1_024

/** `payments fx …`: imports and lists exchange rates. */
export function fxCommand(operator: Operator): Command {
  return commandGroup(operator, 'fx', 'import and list exchange rates', commands)
}

const commands: readonly OperatorCommand[] = [
  {
    usage: 'import <file>',
    description: 'store the reference rates of a file of the European Central Bank, XML or CSV, daily or historical',
    run: async ({ db, now }, { words: [file = ''] }) => {
      if ((await stat(file)).size > BYTES_MAX) throw new Error(`${file} has more than 64 MiB`)
      const rates = readEcbRates(readText(file))
      refuseLaterDays(rates, now())
      const listed = rates.filter(({ currency, date }) => isCurrency(currency) && !hasEnded(currency, date))
      if (listed.length === 0) throw new Error('none of the currencies is listed')
      const days = listed.map(({ date }) => date).sort()
      const payload = { rates: listed.length, from: days[0], to: days.at(-1) }
      await db.transaction().execute(async (trx) => {
        await upsertEcbRates(trx, listed)
        await insertOperatorAudit(trx, { action: 'fx.imported', payload })
      })
      return { imported: listed.length, skipped: rates.length - listed.length }
    },
  },
  {
    usage: 'list',
    description: 'list the rate of each currency: units for one euro, date and source',
    options: [['--date <date>', 'the day that they apply on, as 2026-03-01; default today']],
    run: ({ db }, { options: { date } }) => {
      if (date !== undefined && !z.iso.date().safeParse(date).success) throw new Error('--date is not a date')
      return listRatesOfDay(db, typeof date === 'string' ? date : undefined)
    },
  },
]

/** Refuses rates of future days: the bank publishes the rates of a day on that day. */
function refuseLaterDays(rates: readonly { readonly currency: string; readonly date: string }[], now: Date): void {
  const today = now.toISOString().slice(0, 10)
  const late = rates.find(({ date }) => date > today)
  if (late) throw new Error(`the rate of ${late.currency} on ${late.date} is of a day to come`)
}
