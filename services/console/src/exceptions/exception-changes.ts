import type { Changeable } from '../pages/asked-change.ts'
import { choiceField, NO_CHOICE, textField } from '../pages/form.ts'
import { type Decimals, money, type WithDecimals } from '../pages/money.ts'
import { answerWith } from '../service-calls/service-call.ts'
import { ATTEMPTS_PATH, type Attempt, EXCEPTIONS_PATH, type Exception, type HeldBack } from './exception-view.ts'

/** The decisions of operators about an exception. */
export const exceptionChanges: Changeable<WithDecimals<Exception>> = {
  service: 'payments',
  section: 'exceptions',
  pathOf: ({ merchantId, id }) => `${EXCEPTIONS_PATH}/${encodeURIComponent(merchantId)}/${encodeURIComponent(id)}`,
  shownAt: () => EXCEPTIONS_PATH,
  changes: [
    {
      name: 'resolution',
      action: 'exceptions.resolve',
      label: 'Resolve',
      title: () => 'Mark as resolved',
      submit: 'Mark as resolved',
      isOffered: ({ resolved }) => resolved === undefined,
      consequences: ({ acquirer = 'the acquirer', kind, heldBack, decimals }) => [
        `The books stay as they are: you say that what ${acquirer} answered about the ${kind} needs nothing more.`,
        ...(heldBack === undefined
          ? []
          : [
              `Payouts no longer hold back ${heldBackText(heldBack, decimals)}. If the acquirer takes money, book it instead: payments adjust --exception also resolves the exception.`,
            ]),
        'The exception leaves the list of those that wait.',
      ],
      fields: (_shown, { note }) =>
        textField({
          name: 'note',
          label: 'Note (optional)',
          value: note,
          maxLength: 1_000,
          hint: 'For the audit log: what you have found out and done.',
        }),
      call: ({ merchantId, id }, { note = '' }) => ({
        method: 'POST',
        path: `/operator/exceptions/${encodeURIComponent(merchantId)}/${encodeURIComponent(id)}/resolution`,
        body: note.trim() === '' ? {} : { note: note.trim() },
      }),
      answer: answerWith('exception'),
      done: 'The exception is resolved',
    },
  ],
}

const OUTCOMES = [
  NO_CHOICE,
  ['approved', 'approved: the acquirer has authorized it'],
  ['declined', 'declined: the acquirer has refused it'],
] as const

/** The decisions of operators about an attempt. */
export const attemptChanges: Changeable<WithDecimals<Attempt>> = {
  service: 'payments',
  section: 'exceptions',
  pathOf: ({ id }) => `${ATTEMPTS_PATH}/${encodeURIComponent(id)}`,
  shownAt: () => ATTEMPTS_PATH,
  changes: [
    {
      name: 'outcome',
      action: 'attempts.resolve',
      label: 'Outcome',
      submit: 'Record the outcome',
      title: ({ amount, currency, decimals }) => `Outcome of the authorization of ${money(amount, currency, decimals)}`,
      isDangerous: true,
      consequences: ({ acquirer = 'the simulator' }) => [
        `Ask ${acquirer} first: only they know what became of the authorization.`,
        'Where they have approved it, the authorization is given back, because nobody waits for it any more.',
        'This cannot be undone.',
      ],
      fields: (_shown, { outcome }) =>
        choiceField({ name: 'outcome', label: 'Outcome', value: outcome, isRequired: true, options: OUTCOMES }),
      call: ({ id }, { outcome = '' }) => ({
        method: 'POST',
        path: `/operator/attempts/${encodeURIComponent(id)}/outcome`,
        body: { outcome },
      }),
      answer: answerWith('attempt'),
      done: (_shown, { outcome }) =>
        outcome === 'approved' ? 'The authorization was approved, and is given back' : 'The authorization was declined',
    },
  ],
}

/** The money that payouts hold back for an exception. */
export function heldBackText({ amount, currency }: HeldBack, decimals: Decimals): string {
  return amount === undefined ? 'the whole balance' : money(amount, currency, decimals)
}
