import { describe, expect, it } from 'vitest'
import { DEFAULT_TEXTS, MAIL_KINDS, type MailKind } from './default-templates.ts'
import { parseTemplate, renderHtml, renderSubject } from './mail-template.ts'

const LINK = ['SiteURL', 'Email', 'ConfirmationURL', 'Token']
/** The variables that the built-in texts show, and the built-in subject (reference: Mail templates). */
const expected: Readonly<Record<MailKind, readonly [shown: readonly string[], subject: string]>> = {
  INVITE: [LINK, "You've been invited"],
  CONFIRMATION: [LINK, 'Confirm your email address'],
  RECOVERY: [LINK, 'Reset your password'],
  MAGIC_LINK: [LINK, 'Your sign-in link'],
  EMAIL_CHANGE: [[...LINK, 'NewEmail'], 'Confirm your new email address'],
  REAUTHENTICATION: [['Token'], '[Token] is your verification code'],
  PASSWORD_CHANGED_NOTIFICATION: [['Email'], 'Your password was changed'],
  EMAIL_CHANGED_NOTIFICATION: [['Email', 'OldEmail'], 'Your email address was changed'],
  PHONE_CHANGED_NOTIFICATION: [['Email', 'Phone', 'OldPhone'], 'Your phone number was changed'],
  IDENTITY_LINKED_NOTIFICATION: [['Email', 'Provider'], 'A new sign-in method was linked to your account'],
  IDENTITY_UNLINKED_NOTIFICATION: [['Email', 'Provider'], 'A sign-in method was removed from your account'],
  MFA_FACTOR_ENROLLED_NOTIFICATION: [['Email', 'FactorType'], 'A new verification method was added to your account'],
  MFA_FACTOR_UNENROLLED_NOTIFICATION: [['Email', 'FactorType'], 'A verification method was removed from your account'],
  PASSKEY_ADDED_NOTIFICATION: [['Email'], 'A passkey was added to your account'],
  PASSKEY_REMOVED_NOTIFICATION: [['Email'], 'A passkey was removed from your account'],
  PASSKEYS_KEPT_NOTIFICATION: [['Email', 'Passkeys'], 'Check the passkeys of your account'],
  RECOVERY_CODES_CREATED_NOTIFICATION: [['Email'], 'New recovery codes were made for your account'],
  ACCOUNT_SECURED_NOTIFICATION: [['Email', 'Since'], 'Your account was secured'],
}

describe('DEFAULT_TEXTS', () => {
  it.each(MAIL_KINDS)('%s uses its variables and no others', (kind) => {
    const [shown, subject] = expected[kind]
    const { subject: subjectSource, body: bodySource } = DEFAULT_TEXTS[kind]
    const named = [...bodySource.matchAll(/\{\{(?: if)? \.(\w+) \}\}/g)].map(([, name]) => name)
    expect(new Set(named)).toEqual(new Set(shown))
    const variables = Object.fromEntries(shown.map((name) => [name, `[${name}]`]))
    expect(renderSubject(parseTemplate(subjectSource), variables)).toBe(subject)
    expect(renderHtml(parseTemplate(bodySource), variables)).not.toContain('{{')
  })

  it.each(MAIL_KINDS.filter((kind) => expected[kind][0].includes('ConfirmationURL')))(
    '%s shows the link and the code',
    (kind) => {
      const variables = { Token: '123456', ConfirmationURL: 'https://h/?a=1&b=2' }
      const body = renderHtml(parseTemplate(DEFAULT_TEXTS[kind].body), variables)
      expect(body).toContain('<a href="https://h/?a=1&amp;b=2">')
      expect(body).toContain('<strong>123456</strong>')
    },
  )
})
