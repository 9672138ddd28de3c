import { type Html, html } from '@trestle/common/documents/html.ts'
import { amountTooLarge, amountTooSmall } from '../errors.ts'
import type { AskedCall, AskedChange, Changeable, GivenFields } from '../pages/asked-change.ts'
import { choiceField, type Problem, textField } from '../pages/form.ts'
import { invalidAmount, money, readMoney, typedMoney } from '../pages/money.ts'
import { answerWith } from '../service-calls/service-call.ts'
import { cardText, type ShownTransaction, transactionPath } from './transaction-view.ts'

const callPath = ({ transaction }: ShownTransaction, below: string) =>
  `/operator/transactions/${encodeURIComponent(transaction.id)}/${below}`
const nameOf = ({ merchant }: ShownTransaction) => merchant.name ?? merchant.id

/** The largest refund that the operator may make now, in minor units. */
function refundableBy({
  limits: { refund, refundLimit = refund, refundAllowance = refund },
}: ShownTransaction): number {
  return Math.min(refund, refundLimit, refundAllowance)
}

/**
 * Sentences about the operator's refund quota, and about who may refund more (console reference: Refund quota). Empty without a
 * quota.
 */
export function quotaLines({
  transaction: { currency },
  decimals,
  limits: { refundLimit, refundAllowance: left },
}: ShownTransaction): readonly string[] {
  if (left === undefined) return []
  if (refundLimit === 0) return [`Support may refund nothing in ${currency}.`, 'An admin may.']
  if (left === 0) return [`You may refund nothing more in ${currency} today.`, 'An admin may.']
  const ofDay = `You may still refund ${money(left, currency, decimals)} today`
  const isLess = refundLimit !== undefined && refundLimit < left
  return [
    `${ofDay}${isLess ? `, and at most ${money(refundLimit, currency, decimals)} at once` : ''}.`,
    'An admin may refund more.',
  ]
}

/** A sentence if the trail is full but money is left, otherwise `undefined` (payments reference: Length of the trail). */
export function fullTrailLine({ transaction: { pendingAmount }, limits }: ShownTransaction): string | undefined {
  const refund = limits.refundAllowance === undefined ? 'refund' : 'refund of support'
  const full = [
    ...(pendingAmount > limits.capture ? ['capture'] : []),
    ...(pendingAmount > limits.void ? ['void'] : []),
    ...(limits.dispute > limits.refund ? [refund] : []),
  ]
  return full.length === 0 ? undefined : `The trail is too long for another ${full.join(' or ')}.`
}

const OPERATIONS: readonly AskedChange<ShownTransaction>[] = [
  {
    name: 'capture',
    action: 'transactions.capture',
    label: 'Capture',
    title: () => 'Capture a payment',
    isOffered: ({ limits }) => limits.capture > 0,
    consequences: (shown) => [
      `The amount is taken from ${cardText(shown.transaction)} and credited to ${nameOf(shown)}.`,
      'Only a refund gives it back.',
    ],
    fields: (shown, given, problem) => amountFields(shown, given, { most: shown.limits.capture, problem }),
    call: (shown, given) =>
      operationCall(shown, given, {
        below: 'captures',
        most: shown.limits.capture,
        neverMore: shown.transaction.amount,
      }),
    answer: answerWith('transaction'),
    done: (shown, given) => `${typedAmount(shown, given)} captured`,
  },
  {
    name: 'refund',
    action: 'transactions.refund',
    label: 'Refund',
    title: () => 'Refund a payment',
    isOffered: (shown) => refundableBy(shown) > 0,
    consequences: (shown) => [
      `The amount goes back to ${cardText(shown.transaction)}, and is taken from the balance of ${nameOf(shown)}.`,
      'This cannot be undone.',
      ...quotaLines(shown),
    ],
    fields: (shown, given, problem) => amountFields(shown, given, { most: refundableBy(shown), problem }),
    call: (shown, given) =>
      operationCall(shown, given, {
        below: 'refunds',
        most: refundableBy(shown),
        neverMore: Math.min(shown.transaction.capturedAmount, shown.limits.refundLimit ?? Number.MAX_SAFE_INTEGER),
      }),
    answer: answerWith('transaction'),
    done: (shown, given) => `${typedAmount(shown, given)} refunded`,
  },
  {
    name: 'void',
    action: 'transactions.void',
    label: 'Void',
    title: () => 'Void a payment',
    isDangerous: true,
    isOffered: ({ limits }) => limits.void > 0,
    consequences: ({ transaction }) => [
      `The amount is released on ${cardText(transaction)}, and can no longer be captured.`,
      'This cannot be undone.',
    ],
    fields: (shown, given, problem) => amountFields(shown, given, { most: shown.limits.void, problem }),
    call: (shown, given) =>
      operationCall(shown, given, { below: 'voids', most: shown.limits.void, neverMore: shown.transaction.amount }),
    answer: answerWith('transaction'),
    done: (shown, given) => `${typedAmount(shown, given)} voided`,
  },
]

const DISPUTES: readonly AskedChange<ShownTransaction>[] = [
  {
    name: 'dispute',
    action: 'disputes.open',
    label: 'Open a dispute',
    isOffered: ({ limits }) => limits.dispute > 0,
    consequences: (shown) => [
      `The amount is kept from the balance of ${nameOf(shown)} until the dispute is decided.`,
      'The merchant gets an event.',
    ],
    fields: (shown, given, problem) =>
      html`${amountFields(shown, given, { most: shown.limits.dispute, problem })}${choiceField({ name: 'reason', label: 'Reason', value: given.reason, options: reasonsOf(shown) })}`,
    call: (shown, given) => {
      const { dispute: most } = shown.limits
      const { capturedAmount: neverMore } = shown.transaction
      const call = operationCall(shown, given, { below: 'disputes', most, neverMore })
      if ('problem' in call) return call
      return { ...call, body: { ...call.body, reason: { code: Number(given.reason) } } }
    },
    answer: answerWith('dispute'),
    done: (shown, given) => `A dispute of ${typedAmount(shown, given)} is open`,
  },
]

export const transactionChanges: Changeable<ShownTransaction> = {
  service: 'payments',
  section: 'transactions',
  pathOf: ({ transaction }) => transactionPath(transaction.id),
  changes: [...OPERATIONS, ...DISPUTES],
}

function reasonsOf({ reasons }: ShownTransaction) {
  return reasons.disputes.map(({ code, title }) => [String(code), `${title} (${code})`] as const)
}

/** The problems of an amount that is not above zero or too large. */
function amountProblems({ transaction: { currency }, decimals }: ShownTransaction, most: number) {
  return {
    tooSmall: () => amountTooSmall({ zero: money(0, currency, decimals) }),
    tooLarge: () => amountTooLarge({ most: money(most, currency, decimals) }),
  }
}

function amountFields(
  shown: ShownTransaction,
  given: GivenFields,
  { most, problem }: { readonly most: number; readonly problem: Problem | undefined },
): Html {
  const { decimals } = shown
  const { currency } = shown.transaction
  const limits = amountProblems(shown, most)
  return html`${textField({
    name: 'amount',
    label: `Amount in ${currency}`,
    value: given.amount ?? (most === 0 ? '' : typedMoney(most, currency, decimals)),
    inputMode: 'decimal',
    hint: `At most ${money(most, currency, decimals)}.`,
    isRequired: true,
    problem,
    range: {
      most: typedMoney(most, currency, decimals),
      tooSmall: `${limits.tooSmall().message}.`,
      tooLarge: `${limits.tooLarge().message}.`,
    },
  })}${textField({ name: 'reference', label: 'Reference (optional)', value: given.reference, maxLength: 255, problem })}`
}

/** The path of an operation, and the limit of its amount in minor units. */
interface Operation {
  readonly below: string
  /** The current limit. */
  readonly most: number
  /**
   * The highest possible limit. The first attempt may have had more left. Its retry must reach payments, which returns the first
   * answer.
   */
  readonly neverMore: number
}

function operationCall(
  shown: ShownTransaction,
  { amount = '', reference = '' }: GivenFields,
  { below, most, neverMore }: Operation,
): AskedCall {
  const { currency } = shown.transaction
  const limits = amountProblems(shown, most)
  const isNegative = /^\s*[-−]\s*\d/.test(amount)
  const minor = isNegative ? 0 : readMoney(amount, currency, shown.decimals)
  if (minor === undefined) return invalidAmount('amount', currency)
  if (minor === 0) return { problem: limits.tooSmall(), field: 'amount' }
  if (minor > neverMore) return { problem: limits.tooLarge(), field: 'amount' }
  const body = { amount: minor, ...(reference === '' ? {} : { reference }) }
  return { method: 'POST', path: callPath(shown, below), body }
}

function typedAmount({ transaction: { currency }, decimals }: ShownTransaction, { amount = '' }: GivenFields): string {
  return money(readMoney(amount, currency, decimals) ?? 0, currency, decimals)
}
