import type { CommandInput } from '@trestle/common/commands/operator-command.ts'
import { type Command, Option } from 'commander'
import type { OperatorDeps } from '../deps.ts'
import { formatMoney } from '../money/minor-units.ts'
import { processingError } from '../transactions/processing-error.ts'
import type { Transaction } from '../transactions/transaction.ts'
import { findTransaction, listAllTransactions } from '../transactions/transaction-repository.ts'
import { viewTransaction } from '../transactions/transaction-view.ts'
import { commandGroup, type Operator, type OperatorCommand } from './operator-command.ts'
import { PAGE_OPTIONS, readId, readPage } from './read-options.ts'

/** `payments transactions …`: the payments of customers of all merchants. */
export function transactionsCommand(operator: Operator): Command {
  return commandGroup(operator, 'transactions', 'list and show transactions', commands)
}

const commands: readonly OperatorCommand[] = [
  {
    usage: 'list',
    description: 'list transactions of all merchants, newest first',
    options: [
      ['--merchant <id>', 'of this merchant alone'],
      new Option('--failed', 'only those that were refused').conflicts('successful'),
      new Option('--successful', 'only those that were authorized'),
      ...PAGE_OPTIONS,
    ],
    run: list,
  },
  {
    usage: 'show <id>',
    description: 'show a transaction with everything that happened to it',
    run: show,
  },
]

async function list({ db }: OperatorDeps, { options, format }: CommandInput): Promise<object> {
  const { merchant, failed, successful } = options
  const transactions = await listAllTransactions(db, {
    ...readPage(options),
    merchantId: merchant === undefined ? undefined : readId('--merchant', merchant),
    successful: failed === true ? false : successful === true || undefined,
  })
  return format === 'json' ? transactions.map(viewTransaction) : transactions.map(describeTransaction)
}

async function show({ db }: OperatorDeps, { words: [text = ''], format }: CommandInput): Promise<object> {
  const id = readId('the id', text)
  const transaction = await findTransaction(db, id)
  if (!transaction) throw new Error(`there is no transaction ${id}`)
  if (format === 'json') return viewTransaction(transaction)
  const { currency, errorCode, pending, captured, refunded, voided, disputed } = transaction
  const money = (amount: bigint) => formatMoney(currency, amount)
  return {
    ...describeTransaction(transaction),
    mode: transaction.test ? 'test' : 'live',
    scheme: transaction.card.scheme,
    descriptor: transaction.descriptor,
    reference: transaction.reference,
    tds: transaction.tds,
    pending: money(pending),
    captured: money(captured),
    refunded: money(refunded),
    voided: money(voided),
    disputed: money(disputed),
    ...(errorCode === null ? {} : { error: processingError(errorCode).message }),
    trail: transaction.trail.map(({ id: entryId, created, kind, amount, reference }) => ({
      id: entryId,
      created: new Date(created),
      kind,
      amount: money(BigInt(amount)),
      reference,
    })),
  }
}

function describeTransaction(transaction: Transaction) {
  const { id, created, currency, amount, card, merchantId } = transaction
  return {
    id,
    amount: formatMoney(currency, amount),
    status: statusOf(transaction),
    card: `•••• ${card.last4}`,
    merchant: merchantId,
    created,
  }
}

/** One word for people. Programs read the amounts. */
function statusOf({ errorCode, amount, captured, refunded, voided, disputed }: Transaction): string {
  if (errorCode !== null) return 'failed'
  if (disputed > 0n) return 'disputed'
  if (refunded > 0n) return refunded < captured ? 'partly refunded' : 'refunded'
  if (captured > 0n) return captured < amount ? 'partly captured' : 'captured'
  return voided > 0n && voided === amount ? 'voided' : 'authorized'
}
