// Writes ten batches of payouts in both versions of pain.001, and the payments that a reader must find in them. With third-party
// tools, `scripts/try-bank-files` compares both: sepaxml validates the files, and xmlschema and pyiso20022 read them back.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nextBankDay } from '../services/payments/src/payouts/bank-days.ts'
import { judgeTransfer, toBankFiles } from '../services/payments/src/payouts/bank-files.ts'
import { PAIN_VERSIONS } from '../services/payments/src/payouts/pain-001.ts'

const [folder = '.'] = process.argv.slice(2)

/** The payees of each batch, with their names in the bank file. `undefined`: the payee is held back. */
const PAYEES: readonly (readonly [string | null, string | undefined, string])[] = [
  ['Café Ærø & Søn', 'Cafe Aero + Son', 'DK5000400440116243'],
  ['ŁÓDŹ Spółka z o.o.', 'LODZ Spolka z o.o.', 'PL61109010140000071219812874'],
  ['Юрий ЕООД', 'Yuriy EOOD', 'BG80BNBG96611020345678'],
  ['Ђорђе', 'Dorde', 'RS35260005601001611379'],
  ['Ελληνική Θάλασσα', 'Elliniki Thalassa', 'GR1601101250000000012300695'],
  ['Diyarbakır Işıklı <İnşaat>', 'Diyarbakir Isikli (Insaat)', 'DE89370400440532013000'],
  ['O’Neill "Ċensu" Għaxaq', "O'Neill 'Censu' Ghaxaq", 'MT84MALT011000012345MTLCAST001S'],
  ['a'.repeat(80), 'a'.repeat(70), 'FR1420041010050500013M02606'],
  // In SEPA but outside the EEA, so the payer's address is included.
  ['Zürcher Öfen', 'Zurcher Ofen', 'CH9300762011623852957'],
  ['مكتبة', undefined, 'GB33BUKB20201555555555'],
  ['ספרייה', undefined, 'CH9300762011623852957'],
  ['北京', undefined, 'ES9121000418450200051332'],
  ['Short', undefined, 'DE5137040044053201300'],
  [null, undefined, 'NL91ABNA0417164300'],
  // Outside SEPA, so in the CSV, with any European script.
  ['Boğaziçi', 'csv', 'TR330006100519786457841326'],
  ['Київ', 'csv', 'UA213223130000026007233566001'],
]

/** Moments on weekends and holidays, and the expected payment day. */
const MOMENTS = [
  ['2026-03-01T10:00:00Z', 'UTC', '2026-03-02'],
  ['2026-03-06T23:30:00Z', 'Europe/Copenhagen', '2026-03-09'],
  ['2026-04-02T22:30:00Z', 'Europe/Berlin', '2026-04-07'],
  ['2026-05-01T08:00:00Z', 'UTC', '2026-05-04'],
  ['2026-12-24T23:30:00Z', 'Europe/Helsinki', '2026-12-28'],
  ['2026-12-31T23:30:00Z', 'Europe/Sofia', '2027-01-04'],
  ['2027-03-26T12:00:00Z', 'UTC', '2027-03-30'],
  ['2028-12-23T12:00:00Z', 'Europe/Athens', '2028-12-27'],
  ['2026-11-30T12:00:00Z', 'UTC', '2026-11-30'],
  ['2030-04-19T12:00:00Z', 'Europe/London', '2030-04-23'],
] as const

const expected = MOMENTS.flatMap(([moment, timeZone, day], nth) =>
  PAIN_VERSIONS.map((version, older) => {
    const id = (nth * 2 + older).toString(16).padStart(24, '0')
    const bic = older === nth % 2 ? 'DABADKKK' : undefined
    const debtor = {
      name: 'Trestle ApS',
      iban: 'DK5000400440116243',
      bic,
      address: { town: 'Ærøskøbing', country: 'DK' },
    }
    const judged = PAYEES.map(([holder, written, iban], at) => {
      const amount = [1n, 100_05n, 999_999_999_99n][(nth + at) % 3] ?? 1n
      const payoutId = (at + 1).toString(16).padStart(24, '0')
      return {
        written,
        transfer: judgeTransfer({ payoutId, merchantId: payoutId, currency: 'EUR', holder, iban, amount }, debtor),
      }
    })
    const transfers = judged.flatMap(({ transfer }) => ('reason' in transfer ? [] : [transfer]))
    const held = judged.filter(({ transfer }) => 'reason' in transfer)
    if (held.some(({ written }) => written !== undefined)) throw new Error('a payee was held back')
    const form = { version, executionDate: nextBankDay(new Date(moment), timeZone) }
    const files = toBankFiles({ id, created: new Date(moment), debtor, form, transfers })
    for (const { name, text } of files) writeFileSync(join(folder, name), text)
    const rows = judged.flatMap(({ written, transfer }) => ('reason' in transfer ? [] : [{ written, ...transfer }]))
    const view = ({ written, payoutId, iban, amount }: (typeof rows)[number]) => ({
      id: payoutId,
      name: written,
      iban,
      cents: String(amount),
    })
    const isTable = ({ written }: (typeof rows)[number]) => written === 'csv'
    const paid = rows.filter((row) => !isTable(row)).map(view)
    const table = rows
      .filter(isTable)
      .map(({ payoutId, holder, iban, amount }) => [payoutId, holder, iban, String(amount)])
    const payer = ['Aeroskobing', 'DK']
    return { file: `payouts-${id}`, version, day, payer, paid, table, held: held.length }
  }),
)
writeFileSync(join(folder, 'expected.json'), JSON.stringify(expected))
