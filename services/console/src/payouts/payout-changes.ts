import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import type { Changeable } from '../pages/asked-change.ts'
import { choiceField, NO_CHOICE, textField } from '../pages/form.ts'
import { Amount, money, type WithDecimals } from '../pages/money.ts'
import { count } from '../pages/parts.ts'
import { answerWith } from '../service-calls/service-call.ts'

const Exported = z.object({
  batch: z.object({ id: z.string() }).nullable(),
  waiting: z.int(),
  held: z
    .array(z.object({ payoutId: z.string(), merchantName: z.string().nullable(), reason: z.string() }))
    .default([]),
})

const OUTCOMES = [
  NO_CHOICE,
  ['settled', 'settled: the account of the merchant has the money'],
  ['failed', 'failed: the money goes back to the balance'],
] as const

export const payoutChanges: Changeable<WithDecimals<Payout>> = {
  service: 'payments',
  section: 'payouts',
  pathOf: ({ id }) => payoutPath(id),
  changes: [
    {
      name: 'outcome',
      action: 'payouts.close',
      label: 'Outcome',
      submit: 'Record the outcome',
      title: ({ amount, currency, decimals }) => `Outcome of the payout of ${money(amount, currency, decimals)}`,
      isDangerous: true,
      isOffered: ({ status }) => status === 'exported',
      consequences: ({ amount, currency, bank, decimals }) => [
        `The bank has made of ${money(amount, currency, decimals)} to ${bank.iban} what you record here.`,
        'This cannot be undone.',
      ],
      fields: (_payout, { outcome }) =>
        choiceField({ name: 'outcome', label: 'Outcome', value: outcome, isRequired: true, options: OUTCOMES }),
      call: ({ id }, { outcome = '' }) => ({
        method: 'POST',
        path: `/operator/payouts/${encodeURIComponent(id)}/outcome`,
        body: { outcome },
      }),
      answer: answerWith('payout'),
      done: (_payout, { outcome }) => `The payout is ${outcome === 'settled' ? 'settled' : 'failed'}`,
    },
  ],
}

export const allPayoutsChanges: Changeable<undefined> = {
  service: 'payments',
  section: 'payouts',
  pathOf: () => PAYOUTS_PATH,
  changes: [
    {
      name: 'run',
      action: 'payouts.run',
      label: 'Pay out',
      title: (_shown, { merchant = '' }) => (merchant === '' ? 'Pay out all merchants' : 'Pay out a merchant'),
      consequences: () => [
        'A job makes a payout of the balance of each merchant, less what open disputes and young captures keep.',
        'The payouts wait until a file for the bank is made.',
      ],
      fields: (_shown, { merchant }, problem) =>
        textField({
          name: 'merchant',
          label: 'Merchant (optional)',
          value: merchant,
          pattern: '[0-9a-fA-F]{24}',
          hint: 'The id of one merchant. Empty: all with a balance above 0.',
          problem,
        }),
      call: (_shown, { merchant = '' }) => ({
        method: 'POST',
        path: '/operator/payouts/run',
        body: merchant.trim() === '' ? {} : { merchant: merchant.trim() },
      }),
      answer: answerWith('job'),
      done: 'A job pays out. Its payouts appear here',
    },
    {
      name: 'export',
      action: 'payouts.export',
      label: 'Make bank files',
      title: () => 'Make files for the bank',
      isDangerous: true,
      consequences: () => [
        'Up to 5,000 payouts that wait go into files for the bank, and count as exported.',
        'You find the files among the batches. Give each to the bank once: it makes the payments in it.',
      ],
      fields: (_shown, { name, iban, bic, day }, problem) =>
        html`${textField({ name: 'name', label: 'Owner of the account that pays', value: name, isRequired: true, isFocused: true, problem })}${textField({ name: 'iban', label: 'IBAN of the account', value: iban, isRequired: true, problem })}${textField({ name: 'bic', label: 'BIC of its bank (optional)', value: bic, problem })}${textField({ name: 'day', label: 'Day on which the bank pays (optional)', value: day, pattern: '[0-9]{4}-[0-9]{2}-[0-9]{2}', hint: 'Such as 2026-03-02. Empty: the next day on which banks settle.', problem })}`,
      call: (_shown, { name = '', iban = '', bic = '', day = '' }) => ({
        method: 'POST',
        path: '/operator/payouts/batches',
        body: {
          name: name.trim(),
          iban: iban.trim(),
          ...(bic.trim() === '' ? {} : { bic: bic.trim() }),
          ...(day.trim() === '' ? {} : { executionDate: day.trim() }),
        },
      }),
      answer: Exported,
      done: (_shown, _given, answer) => describeExport(answer),
      shows: (_shown, answer) => {
        const { held } = Exported.parse(answer)
        return held.length === 0 ? undefined : html`<p>${describeExport(answer)}.</p>${describeHeld(held)}`
      },
      leadsTo: () => BATCHES_PATH,
    },
  ],
}

function describeExport(answer: unknown): string {
  const { batch, waiting } = Exported.parse(answer)
  const more = waiting === 0 ? '' : `, and ${count(waiting)} payouts still wait: make files again`
  return batch ? `The files for the bank are made${more}` : 'No payout can go to the bank'
}

/**
 * Lists each payout that the bank would reject, with the reason. Merchants choose their names, so the list may be too long for a
 * notice.
 */
function describeHeld(held: z.infer<typeof Exported>['held']): Html {
  const items = held.map(({ payoutId, merchantName, reason }) => {
    const merchant = merchantName === null ? '' : ` of ${merchantName}`
    return html`<li><a href="${payoutPath(payoutId)}">Payout ${payoutId}</a>${merchant}: ${reason}</li>`
  })
  return html`<p>The bank would refuse these payouts, so they are held back and still wait:</p><ul>${items}</ul>`
}

const Payout = z.looseObject({
  id: z.string(),
  merchantId: z.string(),
  created: z.string(),
  amount: Amount,
  currency: z.string(),
  status: z.enum(['created', 'exported', 'settled', 'failed']),
  lineId: z.string(),
  bank: z.object({ iban: z.string() }),
  test: z.boolean(),
})
/** A payout in the form of payments (payments reference: Other objects). */
export type Payout = z.infer<typeof Payout>

export const PayoutView = z.object({ payout: Payout })
export const PayoutsView = z.object({ payouts: z.array(Payout) })

const Batch = z.looseObject({
  id: z.string(),
  created: z.string(),
  payouts: z.int(),
  currencies: z.array(z.object({ currency: z.string(), amount: Amount })),
})
export type Batch = z.infer<typeof Batch>

export const BatchesView = z.object({ batches: z.array(Batch) })

/** The bank files of a batch, as base64. */
export const BankFiles = z.object({
  files: z.array(z.object({ name: z.string(), type: z.string(), content: z.base64() })),
})

export const PAYOUTS_PATH = '/payouts'
export const BATCHES_PATH = '/payouts/batches'

export function payoutPath(id: string): string {
  return `${PAYOUTS_PATH}/${encodeURIComponent(id)}`
}
