import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type EmailChangeToken, judgeEmailChange } from './apply-address-change.ts'

const user = (email: string | null, emailChangeConfirmStatus = 0) => ({ email, emailChangeConfirmStatus })

describe('judgeEmailChange', () => {
  it.each([
    ['the new address of a secure change', user('a@b.c'), 'email_change_new', 'both', 'confirm-one'],
    ['the current address of a secure change', user('a@b.c'), 'email_change_current', 'both', 'confirm-one'],
    ['the second of a secure change', user('a@b.c', 1), 'email_change_new', 'both', 'apply'],
    ['the second, also when the setting has changed', user('a@b.c', 1), 'email_change_new', 'new', 'apply'],
    ['the new address of one who has none', user(null), 'email_change_new', 'both', 'apply'],
    ['the new address of a simple change', user('a@b.c'), 'email_change_new', 'new', 'apply'],
    ['the current address of a simple change', user('a@b.c'), 'email_change_current', 'new', 'refuse'],
    ['either address where none has to be confirmed', user('a@b.c'), 'email_change_current', 'either', 'apply'],
  ] as const)('decides on %s (user %j, %s, needs %s) to %s', (...[, who, used, rule, verdict]) => {
    expect(judgeEmailChange(who, used, rule)).toBe(verdict)
  })

  it('applies no change without the new address, and no secure change without the current address', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.constantFrom('a@b.c', null), fc.array(anyStep, { maxLength: 16 }), runSteps),
      { numRuns: 2_000 },
    )
  })
})

type Step =
  | 'ask'
  | 'send again'
  | 'end the messages'
  | 'change the setting'
  | { readonly act: 'use' | 'expire'; readonly address: EmailChangeToken; readonly place: number }

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.constantFrom('ask' as const, 'send again' as const, 'end the messages' as const, 'change the setting' as const),
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constantFrom('use' as const, 'use' as const, 'expire' as const),
      address: fc.constantFrom<EmailChangeToken>('email_change_new', 'email_change_current'),
      place: fc.nat({ max: 1 }),
    }),
  },
)

/** A pending change: for each message of an address, whether its secrets are valid, and the addresses that have agreed. */
interface Pending {
  readonly messages: Readonly<Record<EmailChangeToken, readonly boolean[]>>
  readonly agreed: readonly EmailChangeToken[]
}

const NO_MESSAGES = { email_change_new: [], email_change_current: [] }

/** The addresses that must agree: the new address, and for a secure change also the current address, if the user has one. */
function addressesOf(isSecure: boolean, email: string | null): readonly EmailChangeToken[] {
  return isSecure && email !== null ? ['email_change_new', 'email_change_current'] : ['email_change_new']
}

/** Simulates a request in a session. Earlier messages and agreements become invalid, and each address gets a message. */
function ask(needed: readonly EmailChangeToken[]): Pending {
  return { messages: { ...NO_MESSAGES, ...Object.fromEntries(needed.map((address) => [address, [true]])) }, agreed: [] }
}

/**
 * Simulates `POST /resend`. Each address that has not agreed gets a message, unless it has two valid messages. If one address has
 * agreed and a sign-in has deleted the other messages, the change begins again.
 */
function sendAgain({ messages, agreed }: Pending, needed: readonly EmailChangeToken[]): Pending {
  const waiting = needed.filter((address) => !agreed.includes(address))
  if (agreed.length > 0 && waiting.every((address) => messages[address].length === 0)) return ask(needed)
  const sent = waiting.map((address) => {
    const valid = messages[address].filter((isValid) => isValid)
    return [address, valid.length < 2 ? [...valid, true] : valid] as const
  })
  return { messages: { ...messages, ...Object.fromEntries(sent) }, agreed }
}

/** Runs the steps until the change is applied. Asserts for each used message that the outcome follows the rule. */
function runSteps(startsSecure: boolean, email: string | null, steps: readonly Step[]): void {
  let isSecure = startsSecure
  let pending = ask(addressesOf(isSecure, email))
  for (const step of steps) {
    const needed = addressesOf(isSecure, email)
    if (step === 'ask') pending = ask(needed)
    else if (step === 'send again') pending = sendAgain(pending, needed)
    else if (step === 'end the messages') pending = { ...pending, messages: NO_MESSAGES }
    else if (step === 'change the setting') isSecure = !isSecure
    else if (step.act === 'expire') pending = expire(pending, step)
    else if (pending.messages[step.address][step.place]) {
      const agreed = [...pending.agreed, step.address]
      const isComplete = needed.every((address) => agreed.includes(address))
      const expected = isComplete ? 'apply' : needed.includes(step.address) ? 'confirm-one' : 'refuse'
      const status = pending.agreed.length > 0 ? 1 : 0
      expect(judgeEmailChange(user(email, status), step.address, isSecure ? 'both' : 'new')).toBe(expected)
      if (isComplete) return
      // If an address agrees, all its messages are deleted. If a message is refused, it stays unchanged.
      if (expected === 'confirm-one')
        pending = { messages: { ...pending.messages, [step.address]: [] }, agreed: [step.address] }
    }
  }
}

function expire({ messages, agreed }: Pending, { address, place }: Exclude<Step, string>): Pending {
  return { messages: { ...messages, [address]: messages[address].map((isValid, i) => isValid && i !== place) }, agreed }
}
