import { anyText } from '@trestle/testing/any-text.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  confirmationUrl,
  DEFAULT_TEXTS,
  MAIL_KINDS,
  type MailKind,
  parseTemplate,
  renderHtml,
  renderSubject,
} from './mail-template.ts'

const html = (source: string, variables = {}) => renderHtml(parseTemplate(source), variables)

describe('renderHtml', () => {
  it.each([
    ['Hello {{ .Name }}!', { Name: 'Ada' }, 'Hello Ada!'],
    ['{{.Name}}', { Name: 'Ada' }, 'Ada'],
    ['{{ .Nobody }}', {}, ''],
    ['{{ .toString }}{{ .constructor.name }}', {}, ''],
    ['{{ .Data.key }}', { Data: { key: 'v' } }, 'v'],
    ['{{ .Data.key.deeper }}', { Data: { key: 'v' } }, ''],
    ['{{ .Data }}', { Data: { a: 1 } }, '{&quot;a&quot;:1}'],
    ['{{ .N }}', { N: 0 }, '0'],
    ['a  {{- .X -}}  b', { X: '-' }, 'a-b'],
    ['a {{- .X }} b', { X: '1' }, 'a1 b'],
    ['a\n {{- /* note */ -}} \nb', {}, 'ab'],
    ['{{ if .X }}yes{{ else }}no{{ end }}', { X: 'x' }, 'yes'],
    ['{{ if .X }}yes{{ else }}no{{ end }}', { X: '' }, 'no'],
    ['{{ if .X }}yes{{ end }}', { X: {} }, ''],
    ['{{ if .X }}{{ if .Y }}xy{{ else }}x{{ end }}{{ else }}-{{ end }}', { X: 1, Y: 0 }, 'x'],
    ['{ .X } }}', { X: 1 }, '{ .X } }}'],
  ])('renders %j with %j as %j', (source, variables, expected) => {
    expect(html(source, variables)).toBe(expected)
  })

  it.each(['a  {{- " }}', '{{ if .X }}open', '{{ end }}', '{{ else }}', '{{ range .X }}', '{{ .X | html }}'])(
    'refuses the template %j',
    (source) => {
      expect(() => parseTemplate(source)).toThrow(SyntaxError)
    },
  )

  it('escapes an address for the attribute that holds it', () => {
    expect(html('<a href="{{ .U }}">', { U: `https://h/?a=1&b="'<>` })).toBe(
      '<a href="https://h/?a=1&amp;b=%22%27%3C%3E">',
    )
  })

  // ASVS 1.1.2, 1.2.1, 1.3.7
  it('escapes a value that would end an attribute', () => {
    fc.assert(fc.property(anyText(), (value) => !/["'<>]/.test(html('{{ .X }}', { X: value }))))
  })
})

describe('renderSubject', () => {
  // ASVS 1.2.1, 1.3.11
  it('escapes nothing and has no line break', () => {
    expect(renderSubject(parseTemplate('{{ .X }}'), { X: 'a&b\r\nBcc: c' })).toBe('a&b Bcc: c')
  })
})

const link = {
  base: 'https://auth.example.com',
  path: '/verify',
  token: 'ab',
  type: 'signup',
  redirectTo: 'https://h/p',
}

describe('confirmationUrl', () => {
  // ASVS 1.2.2
  it.each([
    [{}, 'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https://h/p'],
    [{ base: 'https://h/auth/v1/' }, 'https://h/auth/v1/verify?token=ab&type=signup&redirect_to=https://h/p'],
    [{ base: 'https://h/auth/v1', path: '/confirm' }, 'https://h/confirm?token=ab&type=signup&redirect_to=https://h/p'],
    [{ path: 'https://app.test/c?x=1' }, 'https://app.test/c?x=1&token=ab&type=signup&redirect_to=https://h/p'],
    [
      { redirectTo: 'https://h/p?a=1&b' },
      'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https%3A%2F%2Fh%2Fp%3Fa%3D1%26b',
    ],
    [{ redirectTo: 'https://h/p?q' }, 'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https://h/p?q'],
    [
      { redirectTo: 'https://h/#/x' },
      'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https%3A%2F%2Fh%2F%23%2Fx',
    ],
    [
      { redirectTo: 'https://h/"x"' },
      'https://auth.example.com/verify?token=ab&type=signup&redirect_to=https%3A%2F%2Fh%2F%22x%22',
    ],
  ])('builds the link of %j', (change, expected) => {
    expect(confirmationUrl({ ...link, ...change })).toBe(expected)
  })

  it.each(['https://h/a%2Fb', 'https://h/p?next=%26admin%3D1', 'https://h/a+b', 'https://h/100%25', 'https://h/ä'])(
    'has a redirect_to that a browser reads as %s again',
    (redirectTo) => {
      expect(new URL(confirmationUrl({ ...link, redirectTo })).searchParams.get('redirect_to')).toBe(redirectTo)
    },
  )
})

const LINK = ['SiteURL', 'Email', 'ConfirmationURL', 'Token']
/** The variables shown by the built-in texts, and the built-in subject (reference: Mail templates). */
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
