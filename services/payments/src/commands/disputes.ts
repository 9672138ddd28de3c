import type { CommandInput } from '@trestle/common/commands/operator-command.ts'
import { transactionPools } from '@trestle/database/pools.ts'
import { type Command, Option } from 'commander'
import { TRUSTED_COLUMNS } from '../access/caller.ts'
import type { Trx } from '../database.ts'
import type { OperatorDeps } from '../deps.ts'
import { DEFAULT_REASON, DISPUTE_REASONS, type Dispute } from '../disputes/dispute.ts'
import { callCloseDispute, callOpenDispute, findDisputeOfAll } from '../disputes/dispute-repository.ts'
import { callAddFraud } from '../disputes/fraud-repository.ts'
import { formatMoney } from '../money/minor-units.ts'
import { insertOperatorAudit } from '../operators/operator-audit-repository.ts'
import { instant } from '../requests/fields.ts'
import { findTransactionTenant } from '../transactions/transaction-repository.ts'
import { commandGroup, type Operator, type OperatorCommand } from './operator-command.ts'
import { textOf } from './read-options.ts'

/** `payments disputes …`: opens and closes disputes that the operator receives on paper. */
export function disputesCommand(operator: Operator): Command {
  return commandGroup(operator, 'disputes', 'open and close disputes', commands)
}

const commands: readonly OperatorCommand[] = [
  {
    usage: 'open <transaction>',
    description: 'open a dispute, of what the issuer demands',
    options: [
      ['--amount <amount>', 'in minor units, also more than was captured; default: all that can be disputed'],
      ['--currency <currency>', 'of the amount; default: that of the transaction'],
      new Option('--reason <code>', `the code of the reason; default ${DEFAULT_REASON.reasonCode}`).choices(
        DISPUTE_REASONS.map(({ code }) => String(code)),
      ),
      ['--reference <reference>', 'of the acquirer: a dispute is opened once under it'],
    ],
    run: open,
  },
  {
    usage: 'won <dispute>',
    description: 'close a dispute in favour of the merchant',
    run: (deps, { words: [id = ''] }) => close(deps, id, 'won'),
  },
  {
    usage: 'lost <dispute>',
    description: 'close a dispute in favour of the customer: the money is taken, with the fee',
    run: (deps, { words: [id = ''] }) => close(deps, id, 'lost'),
  },
]

async function open({ db, pools }: OperatorDeps, { words, options }: CommandInput): Promise<object> {
  const [transactionId = ''] = words
  const reason = DISPUTE_REASONS.find(({ code }) => String(code) === options.reason)
  const dispute = {
    amount: readAmount(options.amount),
    currency: readCurrency(options),
    ...(reason ? { reasonCode: reason.code, reasonTitle: reason.title } : DEFAULT_REASON),
    acquirerRef: textOf(options.reference),
  }
  const { merchantId } =
    (await findTransactionTenant(pools, transactionId)) ?? refuseMissing('transaction', transactionId)
  return db.transaction().execute(async (trx) => {
    const { outcome } = await callOpenDispute(transactionPools(trx, merchantId), {
      ...TRUSTED_COLUMNS,
      transactionId,
      dispute,
    })
    switch (outcome?.verdict) {
      case undefined:
        return refuseMissing('transaction', transactionId)
      case 'limit-exceeded':
        throw new Error(`can dispute at most ${formatMoney(outcome.currency, outcome.possible)}`)
      case 'no-rate':
        throw new Error('the currency has no exchange rate')
      case 'too-many-open':
        throw new Error('the test merchant has 1000 open disputes, and may have no more')
      case 'opened':
        return recordChange(trx, outcome.dispute)
    }
  })
}

async function close({ db, pools }: OperatorDeps, disputeId: string, outcome: 'won' | 'lost'): Promise<object> {
  const { merchantId } = (await findDisputeOfAll(pools, disputeId)) ?? refuseMissing('dispute', disputeId)
  return db.transaction().execute(async (trx) => {
    const { outcome: closed } = await callCloseDispute(transactionPools(trx, merchantId), {
      ...TRUSTED_COLUMNS,
      disputeId,
      outcome,
    })
    switch (closed?.verdict) {
      case undefined:
        return refuseMissing('dispute', disputeId)
      case 'conflict':
        throw new Error(`dispute ${disputeId} is already ${outcome === 'won' ? 'lost' : 'won'}`)
      case 'trail-full':
        throw new Error('the trail of the transaction is full')
      case 'closed':
        return recordChange(trx, closed.dispute)
    }
  })
}

function refuseMissing(noun: 'transaction' | 'dispute', id: string): never {
  throw new Error(`there is no ${noun} ${id}`)
}

/** Adds the dispute to the audit log with its new status, and returns the output of the command. */
async function recordChange(trx: Trx, dispute: Dispute): Promise<object> {
  const { id, merchantId, transactionId, amount, currency, excess, status, due } = dispute
  await insertOperatorAudit(trx, { action: `dispute.${status}`, merchantId, payload: { disputeId: id } })
  return { id, transactionId, amount, currency, ...(excess === 0n ? {} : { excess }), status, due }
}

function readCurrency({ amount, currency }: CommandInput['options']): string | undefined {
  if (currency === undefined) return undefined
  if (amount === undefined) throw new Error('--currency needs --amount')
  return String(currency)
}

function readAmount(text: unknown): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,11}$/.test(String(text))) throw new Error('--amount is a number of minor units')
  return Number(text)
}

/** `payments frauds …`: adds fraud alerts that the operator receives on paper. */
export function fraudsCommand(operator: Operator): Command {
  return commandGroup(operator, 'frauds', 'add fraud alerts', fraudCommands)
}

const fraudCommands: readonly OperatorCommand[] = [
  {
    usage: 'add <transaction>',
    description: 'add a fraud alert; it moves no money',
    options: [
      new Option('--reason <code>', 'of the alert').choices(['0', '1', '2', '3', '4', '5', '6', '7', '8']),
      ['--reported <instant>', 'when it was reported, as 2026-03-01T10:20:30Z'],
      ['--reference <reference>', 'of the acquirer: a report is kept once under it'],
    ],
    run: async ({ db, pools }, { words: [transactionId = ''], options: { reason, reported, reference } }) => {
      const instantOfReport = instant().optional().safeParse(reported)
      if (!instantOfReport.success) throw new Error('--reported is not an instant of the years 1970 to 9999')
      const fraud = {
        ...(reason === undefined ? {} : { reason: Number(reason) }),
        reported: instantOfReport.data,
        ...(reference === undefined ? {} : { acquirerRef: String(reference) }),
      }
      const tenant = await findTransactionTenant(pools, transactionId)
      if (!tenant) throw new Error(`there is no transaction ${transactionId}`)
      const { merchantId } = tenant
      return db.transaction().execute(async (trx) => {
        const call = { ...TRUSTED_COLUMNS, transactionId, fraud }
        const { fraud: added } = await callAddFraud(transactionPools(trx, merchantId), call)
        if (!added) throw new Error(`there is no transaction ${transactionId}`)
        await insertOperatorAudit(trx, { action: 'fraud.added', merchantId, payload: { fraudId: added.id } })
        return { ...added }
      })
    },
  },
]
