import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type EmailChangeToken, judgeEmailChange, needsBothAddresses } from './email-change.ts'

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
    const step = fc.oneof(
      fc.constantFrom<EmailChangeToken>('email_change_new', 'email_change_current'),
      fc.constant('send' as const),
    )
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.constantFrom('a@b.c', null),
        fc.array(step, { maxLength: 12 }),
        (secure, email, steps) => {
          const mailed = (): EmailChangeToken[] =>
            needsBothAddresses({ email }, { secureEmailChange: secure })
              ? ['email_change_new', 'email_change_current']
              : ['email_change_new']
          let unused = new Set(mailed())
          let used = new Set<EmailChangeToken>()
          let status = 0
          for (const what of steps) {
            if (what === 'send') {
              unused = new Set(mailed())
              used = new Set()
              status = 0
            } else if (unused.delete(what)) {
              used.add(what)
              const verdict = judgeEmailChange(user(email, status), what, secure ? 'both' : 'new')
              if (verdict === 'confirm-one') status = 1
              if (verdict !== 'apply') continue
              expect(used).toEqual(new Set(mailed()))
              return
            }
          }
        },
      ),
    )
  })
})
