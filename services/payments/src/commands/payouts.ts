import type { CommandInput } from '@trestle/common/commands/operator-command.ts'
import { transactionPools } from '@trestle/database/pools.ts'
import { type Command, Option } from 'commander'
import type { Judged } from '../access/verdict.ts'
import type { OperatorDeps } from '../deps.ts'
import { isPayableIban, normaliseIban } from '../merchants/iban.ts'
import { insertOperatorAudit } from '../operators/operator-audit-repository.ts'
import { isBankDay } from '../payouts/bank-days.ts'
import { type PreparedFiles, prepareFiles, toBankFiles } from '../payouts/bank-files.ts'
import { BIC, type Debtor, toHolderName } from '../payouts/pain-001.ts'
import type { Payout } from '../payouts/payout.ts'
import { listBatches, runExportAgain, runPayoutExport } from '../payouts/payout-batch-repository.ts'
import {
  callClosePayout,
  callPayOut,
  listAllPayouts,
  type PaidOut,
  type PayOutCall,
} from '../payouts/payout-repository.ts'
import { type PayoutTurn, payOutMerchants } from '../use-cases/pay-out-merchants.ts'
import { commandGroup, type Operator, type OperatorCommand } from './operator-command.ts'
import { textOf } from './read-options.ts'

/** `payments payouts …`: pays merchants out to their bank accounts, and records what the bank did. */
export function payoutsCommand(operator: Operator): Command {
  return commandGroup(operator, 'payouts', 'pay merchants out, and record what the bank did', commands)
}

const STATUSES: readonly Payout['status'][] = ['created', 'exported', 'settled', 'failed']
const ROWS_MAX = 1_000

const commands: readonly OperatorCommand[] = [
  {
    usage: 'run',
    description: 'pay out each merchant with a positive balance, once a day',
    options: [['--merchant <id>', 'this merchant alone']],
    run: async ({ db, pools, config }, { options: { merchant } }) => {
      const turns: PayoutTurn[] = []
      const only = typeof merchant === 'string' ? merchant : undefined
      const pay = (call: PayOutCall) => payAndRecord({ db }, call)
      for await (const turn of payOutMerchants({ db, pools, config }, { only, pay })) turns.push(turn)
      return turns
    },
  },
  {
    usage: 'list',
    description: 'list the newest payouts of all merchants',
    options: [new Option('--status <status>', 'only those').choices(STATUSES)],
    run: ({ db }, { options: { status } }) => listAllPayouts(db, { status: textOf(status), limit: ROWS_MAX }),
  },
  {
    usage: 'export <folder>',
    description: 'write up to 5,000 waiting payouts into files for the bank: euro as pain.001, other currencies as CSV',
    options: [
      ['--name <name>', 'owner of the account that pays'],
      ['--iban <iban>', 'IBAN of that account'],
      ['--bic <bic>', 'BIC of its bank'],
      ['--execution-date <date>', 'day on which the bank shall pay, as 2026-03-02; default: the next bank day'],
      ['--again <batch>', 'write the files of this batch again, with the account of then'],
    ],
    run: exportToFolder,
  },
  {
    usage: 'batches',
    description: 'list the newest batches',
    run: ({ db }) => listBatches(db, ROWS_MAX),
  },
  {
    usage: 'settle <id>',
    description: 'record that the bank has paid',
    run: (deps, { words: [id = ''] }) => closePayout(deps, id, 'settled'),
  },
  {
    usage: 'fail <id>',
    description: 'record that the bank could not pay: the money returns to the balance',
    run: (deps, { words: [id = ''] }) => closePayout(deps, id, 'failed'),
  },
]

/** Pays a merchant out and writes the audit log in one transaction, so a killed run leaves no payout unaudited. */
function payAndRecord({ db }: Pick<OperatorDeps, 'db'>, call: PayOutCall): Promise<Judged<PaidOut>> {
  const { merchantId } = call
  return db.transaction().execute(async (trx) => {
    const paid = await callPayOut(transactionPools(trx, merchantId), call)
    if (paid.outcome?.verdict === 'paid') {
      const payload = { payoutId: paid.outcome.payout.id }
      await insertOperatorAudit(trx, { action: 'merchant.paid-out', merchantId, payload })
    }
    return paid
  })
}

/** Closes a payout. The SQL function writes the audit log. */
async function closePayout({ pools }: OperatorDeps, id: string, outcome: 'settled' | 'failed'): Promise<object> {
  const closed = await callClosePayout(pools, { id, outcome })
  if (closed.verdict === 'not-found') throw new Error(`there is no payout ${id}`)
  if (closed.verdict === 'conflict') throw new Error(`payout ${id} is ${closed.payout.status}`)
  return { id, status: closed.payout.status }
}

/**
 * Writes the complete files under temporary names, then marks the payouts, then renames the files. If the folder is missing or
 * full, no payout is marked. After a crash between these steps, `--again` writes the same files.
 */
async function exportToFolder({ db, config, now }: OperatorDeps, { words, options }: CommandInput): Promise<object> {
  const [folder = ''] = words
  if (options.again !== undefined) {
    const again = await runExportAgain(db, String(options.again))
    const files = toBankFiles(again)
    await (await prepareFiles(folder, files)).publish()
    return { batch: again.id, payouts: again.transfers.length, files: files.map(({ name }) => name) }
  }
  let prepared: PreparedFiles | undefined
  try {
    const { version, timeZone, address } = config.payouts
    const executionDate = readExecutionDate(options, { moment: now(), timeZone })
    const wanted = { debtor: { ...readDebtor(options), address }, version, timeZone, executionDate }
    const { message, waiting, held } = await runPayoutExport(db, wanted, async (batch) => {
      prepared = await prepareFiles(folder, toBankFiles(batch))
    })
    await prepared?.publish()
    const left = held.length === 0 ? { waiting } : { waiting, held }
    if (!message) return { payouts: 0, files: [], ...left }
    const files = toBankFiles(message).map(({ name }) => name)
    return { batch: message.id, payouts: message.transfers.length, files, ...left }
  } finally {
    await prepared?.discard()
  }
}

function readExecutionDate(
  { executionDate }: CommandInput['options'],
  from: Parameters<typeof isBankDay>[1],
): string | undefined {
  if (executionDate === undefined) return undefined
  if (isBankDay(String(executionDate), from)) return String(executionDate)
  throw new Error('--execution-date must be a day on which banks settle, today or later, such as 2026-03-02')
}

function readDebtor({ name, iban, bic }: CommandInput['options']): Debtor {
  const account = normaliseIban(String(iban ?? ''))
  if (typeof name !== 'string' || name === '') throw new Error('--name is required')
  if (toHolderName(name) === '') throw new Error('--name must have letters that Latin letters can stand for')
  if (!isPayableIban(account)) throw new Error('--iban must be an IBAN')
  if (bic !== undefined && !BIC.test(String(bic))) throw new Error('--bic must be a BIC')
  return { name, iban: account, bic: bic === undefined ? undefined : String(bic) }
}
