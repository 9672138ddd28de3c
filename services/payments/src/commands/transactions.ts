import type { CommandInput } from '@trestle/common/commands/operator-command.ts'
import { type Command, Option } from 'commander'
import { giveBackAttempt } from '../acquirers/book-answers.ts'
import {
  callResolveException,
  type ExceptionForOperator,
  listOpenExceptions,
} from '../acquirers/exception-repository.ts'
import { viewHeldBack } from '../acquirers/exception-view.ts'
import type { OperatorDeps } from '../deps.ts'
import { formatMoney } from '../money/minor-units.ts'
import { insertOperatorAudit } from '../operators/operator-audit-repository.ts'
import {
  findUnknownAttemptById,
  listUnsettledAttempts,
  type UnsettledAttempt,
  updateUnknownAttempt,
} from '../transactions/attempt-repository.ts'
import { processingError } from '../transactions/processing-error.ts'
import type { Transaction } from '../transactions/transaction.ts'
import { findTransaction, listAllTransactions } from '../transactions/transaction-repository.ts'
import { viewTransaction } from '../transactions/transaction-view.ts'
import { commandGroup, type Operator, type OperatorCommand } from './operator-command.ts'
import { PAGE_OPTIONS, readId, readPage } from './read-options.ts'

/** `payments transactions …`: lists and shows the transactions of all merchants. */
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

/** Returns a status for the printed table. Programs read the amounts instead. */
function statusOf({ errorCode, amount, captured, refunded, voided, disputed }: Transaction): string {
  if (errorCode !== null) return 'failed'
  if (disputed > 0n) return 'disputed'
  if (refunded > 0n) return refunded < captured ? 'partly refunded' : 'refunded'
  if (captured > 0n) return captured < amount ? 'partly captured' : 'captured'
  return voided > 0n && voided === amount ? 'voided' : 'authorized'
}

/** `payments attempts …`: lists and resolves authorizations without a known outcome. */
export function attemptsCommand(operator: Operator): Command {
  return commandGroup(operator, 'attempts', 'list and resolve authorizations without a known outcome', attemptCommands)
}

const ATTEMPTS_MAX = 1_000

const attemptCommands: readonly OperatorCommand[] = [
  {
    usage: 'list',
    description: 'list authorizations without a known outcome, oldest first',
    run: ({ db }) => listUnsettledAttempts(db, { ageSeconds: 0, limit: ATTEMPTS_MAX }),
  },
  {
    usage: 'resolve <id> <outcome>',
    choices: { outcome: ['approved', 'declined'] },
    description: 'record the outcome: approved (the acquirer is asked to take it back) or declined',
    run: resolve,
  },
]

async function resolve(deps: OperatorDeps, { words: [id = '', outcome] }: CommandInput): Promise<object> {
  const { db } = deps
  const attempt = (await findUnknownAttemptById(db, id)) ?? refuseKnown(id)
  if (outcome === 'approved') await giveBack(deps, attempt)
  const state = outcome === 'approved' ? 'reversed' : 'declined'
  const { merchantId } = attempt
  return db.transaction().execute(async (trx) => {
    if (!(await updateUnknownAttempt(trx, attempt, state))) refuseKnown(id)
    await insertOperatorAudit(trx, { action: 'attempt.resolved', merchantId, payload: { attemptId: id, state } })
    return { id, state }
  })
}

function refuseKnown(id: string): never {
  throw new Error(`there is no attempt ${id} of unknown outcome`)
}

async function giveBack(deps: OperatorDeps, attempt: UnsettledAttempt): Promise<void> {
  switch (await giveBackAttempt(deps, attempt)) {
    case 'no-acquirer':
      throw new Error(`acquirer ${attempt.acquirer} is not configured`)
    case 'refused':
      throw new Error('the acquirer did not take the reversal')
    case 'reversed':
  }
}

/** `payments exceptions …`: lists and closes answers of acquirers that contradict the books. */
export function exceptionsCommand(operator: Operator): Command {
  return commandGroup(
    operator,
    'exceptions',
    'list and close answers of acquirers that contradict the books',
    exceptionCommands,
  )
}

const EXCEPTIONS_MAX = 1_000

const exceptionCommands: readonly OperatorCommand[] = [
  {
    usage: 'list',
    description: 'list open exceptions, oldest first, with the money that payouts hold back for them',
    run: async ({ db }) => (await listOpenExceptions(db, EXCEPTIONS_MAX)).map(toRow),
  },
  {
    usage: 'resolve <merchant> <id>',
    description: 'close an exception that needs no booking; adjust --exception books and closes one',
    run: ({ db }, { words: [merchantId = '', id = ''] }) =>
      db.transaction().execute(async (trx) => {
        const { waited, exception } = (await callResolveException(trx, { merchantId, id })) ?? refuseMissing(id)
        if (!waited) refuseMissing(id)
        await insertOperatorAudit(trx, { action: 'exception.resolved', merchantId, payload: { exceptionId: id } })
        const freed = viewHeldBack(exception)
        return { id, resolved: true, ...(freed && { freed, booked: false }) }
      }),
  },
]

function toRow(exception: ExceptionForOperator): object {
  const { id, merchantId, created, payload } = exception
  return { id, merchantId, created, heldBack: viewHeldBack(exception), payload }
}

function refuseMissing(id: string): never {
  throw new Error(`no exception ${id} waits`)
}
