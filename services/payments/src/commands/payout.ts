import type { Command } from 'commander'
import { insertOperatorAudit } from '../access/audit-repository.ts'
import type { OperatorDeps } from '../deps.ts'
import { hasIbanChecksum, hasIbanShape, normalizeIban } from '../merchants/iban.ts'
import { type PreparedFiles, prepareFiles, toBankFiles } from '../payouts/bank-files.ts'
import type { Debtor } from '../payouts/pain-001.ts'
import { exportPayouts, getBatch, listBatches } from '../payouts/payout-batch-repository.ts'
import { callClosePayout, listAllPayouts } from '../payouts/payout-repository.ts'
import { type PayoutTurn, runPayouts } from '../use-cases/run-payouts.ts'
import { type Operation, type OperationInput, type Operator, operationGroup } from './operation.ts'

/** `payments payout …`: from balances to bank accounts. */
export function payoutCommand(operator: Operator): Command {
  return operationGroup(operator, 'payout', 'pay merchants out, and follow what the bank makes of it', operations)
}

const STATUSES: readonly unknown[] = ['created', 'exported', 'settled', 'failed']
const LIST_LIMIT = 1_000

const operations: readonly Operation[] = [
  {
    usage: 'run',
    description: 'pay out every merchant with money, once a day each',
    options: [['--merchant <id>', 'this merchant alone']],
    run: async ({ database: { db, lanes }, payouts }, { options: { merchant } }) => {
      const turns: PayoutTurn[] = []
      const only = typeof merchant === 'string' ? merchant : undefined
      for await (const turn of runPayouts({ db, lanes, payouts }, { only })) turns.push(turn)
      const paid = turns.filter(({ payout }) => payout !== undefined).length
      await insertOperatorAudit(db, { action: 'payouts.run', payload: { paid, skipped: turns.length - paid } })
      return turns
    },
  },
  {
    usage: 'list',
    description: 'show the newest payouts of all merchants',
    options: [['--status <status>', 'created, exported, settled or failed']],
    run: ({ database }, { options: { status } }) => {
      if (status !== undefined && !STATUSES.includes(status)) throw new Error(`there is no status ${status}`)
      return listAllPayouts(database.db, {
        status: status === undefined ? undefined : String(status),
        limit: LIST_LIMIT,
      })
    },
  },
  {
    usage: 'export <folder>',
    description: 'write what waits into files for the bank: euro as pain.001, the rest as CSV',
    options: [
      ['--name <name>', 'the owner of the account that is paid from'],
      ['--iban <iban>', 'that account'],
      ['--bic <bic>', 'its bank'],
      ['--again <batch>', 'the files of this batch once more, unchanged; the account is that of then'],
    ],
    run: exportToFolder,
  },
  {
    usage: 'batches',
    description: 'show the newest batches that were exported',
    run: ({ database }) => listBatches(database.db, LIST_LIMIT),
  },
  {
    usage: 'settle <id>',
    description: 'note that the bank has paid',
    run: (deps, { words: [id = ''] }) => closePayout(deps, id, 'settled'),
  },
  {
    usage: 'fail <id>',
    description: 'note that the bank could not pay: the money returns to the balance',
    run: (deps, { words: [id = ''] }) => closePayout(deps, id, 'failed'),
  },
]

async function closePayout({ database }: OperatorDeps, id: string, status: 'settled' | 'failed'): Promise<object> {
  const closed = await callClosePayout(database.lanes, { id, status })
  if (closed.verdict === 'not-found') throw new Error(`there is no payout ${id}`)
  if (closed.verdict === 'conflict') throw new Error(`payout ${id} is ${closed.payout.status}`)
  return { id, status: closed.payout.status }
}

/**
 * The files are whole on the disk before the payouts are marked, and get their names afterwards: a folder that is missing or
 * full leaves everything as it was. What ends between the two is mended by --again: the bank gets the same message.
 */
async function exportToFolder({ database: { db } }: OperatorDeps, { words, options }: OperationInput): Promise<object> {
  const [folder = ''] = words
  if (options.again !== undefined) {
    const again = await getBatch(db, String(options.again))
    const files = toBankFiles(again)
    await (await prepareFiles(folder, files)).publish()
    return { batch: again.id, payouts: again.transfers.length, files: files.map(({ name }) => name) }
  }
  let prepared: PreparedFiles | undefined
  try {
    const batch = await exportPayouts(db, readDebtor(options), async (message) => {
      prepared = await prepareFiles(folder, toBankFiles(message))
    })
    await prepared?.publish()
    const files = batch ? toBankFiles(batch) : []
    return { batch: batch?.id, payouts: batch?.transfers.length ?? 0, files: files.map(({ name }) => name) }
  } finally {
    await prepared?.discard()
  }
}

function readDebtor({ name, iban, bic }: OperationInput['options']): Debtor {
  const account = normalizeIban(String(iban ?? ''))
  if (typeof name !== 'string' || name === '') throw new Error('--name is required')
  if (!hasIbanShape(account) || !hasIbanChecksum(account)) throw new Error('--iban must be an IBAN')
  if (bic !== undefined && !/^[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?$/.test(String(bic)))
    throw new Error('--bic must be a BIC')
  return { name, iban: account, bic: bic === undefined ? undefined : String(bic) }
}
