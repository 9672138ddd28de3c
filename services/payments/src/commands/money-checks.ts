import { type Check, type DatedData, findOldData } from '@trestle/common/commands/run-checks.ts'
import { listLiveAccounts } from '../merchants/each-merchant.ts'
import { IBAN_DATA, isPayableIban } from '../merchants/iban.ts'
import sepa from '../merchants/sepa.json' with { type: 'json' }
import currencies from '../money/currencies.json' with { type: 'json' }
import letters from '../money/latin-letters.json' with { type: 'json' }
import { findImportedRates } from '../money/rate-repository.ts'
import type { openPaymentsDatabase } from '../open-database.ts'
import { BANK_DAYS_AS_OF } from '../payouts/bank-days.ts'
import { SERVERS } from './cluster-checks.ts'

interface Subject {
  readonly database: ReturnType<typeof openPaymentsDatabase>
  readonly now: () => Date
}

/** The embedded data about currencies and banks, with the day on which each was last compared with its source. */
export const MONEY_DATA: readonly DatedData[] = [
  { name: 'currencies', asOf: currencies.asOf },
  { name: 'countries of SEPA', asOf: sepa.asOf },
  IBAN_DATA,
  { name: 'letters', asOf: letters.asOf },
  { name: 'bank days', asOf: BANK_DAYS_AS_OF },
]

const NAMED_MAX = 20

/** The checks of `doctor` for exchange rates, bank accounts, and the data about currencies and banks. */
export const moneyChecks: readonly Check<Subject>[] = [
  {
    name: 'exchange rates',
    advice: 'run: payments fx import, with the file of the European Central Bank',
    needs: ['database'],
    run: async ({ database }) => {
      const { date, areNeeded } = await findImportedRates(database.db)
      if (date === null && areNeeded) throw new Error('none were imported, and there are live merchants')
      return date === null ? 'the embedded ones, for test merchants' : `imported until ${date}`
    },
  },
  {
    name: 'bank accounts',
    advice:
      'ask these merchants, then run: payments merchants bank <id> <iban>, and payments payouts fail <id> for each that waits',
    needs: ['database', SERVERS],
    run: async ({ database }) => {
      const accounts = await listLiveAccounts(database.db)
      const wrong = accounts.filter(({ iban }) => !isPayableIban(iban)).map(({ name }) => name)
      if (wrong.length === 0) return `${accounts.length} of live merchants, all of their countries`
      const more = wrong.length > NAMED_MAX ? `, and ${wrong.length - NAMED_MAX} more` : ''
      throw new Error(`no IBAN of its country, so no file pays: ${wrong.slice(0, NAMED_MAX).join(', ')}${more}`)
    },
  },
  {
    name: 'data of currencies and banks',
    advice: 'install a newer release: currencies end, and countries join SEPA',
    run: async ({ now }) => {
      const old = findOldData(MONEY_DATA, now()).map(({ name, asOf }) => `${name} of ${asOf}`)
      if (old.length > 0) throw new Error(`older than a year: ${old.join(', ')}`)
      return `of ${MONEY_DATA.map(({ asOf }) => asOf).sort()[0]} or later`
    },
  },
]
