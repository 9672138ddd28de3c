import type { CompatibilityOptions } from '../config/compatibility.ts'
import { createHtmlPlaces, type HtmlPlaces } from './html-places.ts'

/** The values available to a template: texts, and the user's metadata as `Data`. */
export type TemplateVariables = Readonly<Record<string, unknown>>

/** A parsed template. Its rendering cannot fail. */
export type Template = readonly TemplateNode[]

type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly path: readonly string[] }
  | { readonly kind: 'if'; readonly path: readonly string[]; readonly then: Template; readonly otherwise: Template }

interface Token {
  readonly kind: 'text' | 'action'
  readonly text: string
  /** The place in the template: `line 3, column 7`. */
  readonly position: string
}

const ACTION = /\{\{(-\s)?\s*(.*?)\s*(\s-)?\}\}/gs
const PATH = /^(?:\.[A-Za-z_][A-Za-z0-9_]*)+$/

/**
 * Parses the template language (reference: Mail templates): `{{ .Name }}`, `{{ .Data.key }}`, `{{ if .X }}…{{ else }}…{{ end }}`,
 * and the trim marks `{{-` and `-}}`.
 * @throws SyntaxError for any other action, or an `if` without an `end`; the message starts with the position
 */
export function parseTemplate(source: string): Template {
  const tokens = tokenize(source)
  const nodes = parseNodes(tokens, [])
  const [unexpected] = tokens
  if (unexpected) refuse(unexpected, `unexpected {{ ${unexpected.text} }}`)
  return nodes
}

/** Parses an operator's text, or the built-in text if that is not a valid template. */
export function parseOr(builtIn: string, source: string | undefined): Template {
  return parseTemplate(source === undefined || templateProblem(source) !== undefined ? builtIn : source)
}

/** The reason why a text is not a template, with the position, or `undefined` for a template. */
export function templateProblem(source: string): string | undefined {
  try {
    parseTemplate(source)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Renders a body. Each value is escaped for its place in the HTML. Unknown names are empty. */
export function renderHtml(template: Template, variables: TemplateVariables): string {
  return render(template, variables, createHtmlPlaces())
}

const PLAIN_TEXT: HtmlPlaces = { read: () => {}, escape: (value) => value }

/** Renders plain text without escaping. The result must not be used as HTML. */
export function renderText(template: Template, variables: TemplateVariables): string {
  return render(template, variables, PLAIN_TEXT)
}

export function renderSubject(template: Template, variables: TemplateVariables): string {
  return renderText(template, variables).replaceAll(/[\r\n]+/g, ' ')
}

function tokenize(source: string): Token[] {
  const tokens: Token[] = []
  let position = 0
  let trimsNext = false
  const textUntil = (end: number): string => {
    const text = source.slice(position, end)
    return trimsNext ? text.trimStart() : text
  }
  for (const match of source.matchAll(ACTION)) {
    const text = textUntil(match.index)
    const place = positionAt(source, match.index)
    tokens.push({ kind: 'text', text: match[1] === undefined ? text : text.trimEnd(), position: place })
    tokens.push({ kind: 'action', text: match[2] ?? '', position: place })
    trimsNext = match[3] !== undefined
    position = match.index + match[0].length
  }
  tokens.push({ kind: 'text', text: textUntil(source.length), position: positionAt(source, source.length) })
  return tokens
}

function positionAt(source: string, index: number): string {
  const lines = source.slice(0, index).split('\n')
  return `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`
}

function refuse({ position }: Token, problem: string): never {
  throw new SyntaxError(`${position}: ${problem}`)
}

/** Consumes tokens up to one of `ends`, which stays in the list. @param opening the `if` that needs an end */
function parseNodes(tokens: Token[], ends: readonly string[], opening?: Token): TemplateNode[] {
  const nodes: TemplateNode[] = []
  for (let token = tokens[0]; token !== undefined; token = tokens[0]) {
    if (token.kind === 'action' && ends.includes(token.text)) return nodes
    tokens.shift()
    if (token.kind === 'text') nodes.push({ kind: 'text', text: token.text })
    else if (token.text.startsWith('if ')) nodes.push(parseIf(tokens, token))
    else if (!token.text.startsWith('/*')) nodes.push({ kind: 'value', path: parsePath(token, token.text) })
  }
  if (opening) refuse(opening, 'an {{ if }} has no {{ end }}')
  return nodes
}

function parseIf(tokens: Token[], opening: Token): TemplateNode {
  const path = parsePath(opening, opening.text.slice(3).trim())
  const then = parseNodes(tokens, ['else', 'end'], opening)
  const otherwise = tokens.shift()?.text === 'else' ? parseNodes(tokens, ['end'], opening) : undefined
  if (otherwise) tokens.shift()
  return { kind: 'if', path, then, otherwise: otherwise ?? [] }
}

function parsePath(token: Token, text: string): string[] {
  if (!PATH.test(text)) refuse(token, `{{ ${text} }} is not a name`)
  return text.slice(1).split('.')
}

function render(template: Template, variables: TemplateVariables, places: HtmlPlaces): string {
  return template
    .map((node) => {
      if (node.kind === 'text') {
        places.read(node.text)
        return node.text
      }
      const value = lookUp(node.path, variables)
      if (node.kind === 'value') return places.escape(toText(value))
      return render(isTruthy(value) ? node.then : node.otherwise, variables, places)
    })
    .join('')
}

function lookUp(path: readonly string[], variables: TemplateVariables): unknown {
  let value: unknown = variables
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = Reflect.get(value, key)
  }
  return value
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function isTruthy(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)
}

/** The default path of links, under the URL of the service. */
export const OWN_LINK_PATH = '/verify'

interface ConfirmationLink {
  /** The base of links: API_EXTERNAL_URL, or the allowed host of the request. */
  readonly base: string
  /** The setting MAILER_URLPATHS_…. The default path is appended to the base. Other paths are resolved against it. */
  readonly path: string
  readonly token: string
  readonly type: string
  readonly redirectTo: string
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are among what must be encoded
const NEEDS_ENCODING = /[%+&=#\s"'<>`\u0000-\u001f\u007f-\u009f]/u

/** The link of a mail (reference: Mail links). Encodes `redirect_to` only if necessary, for readability. */
export function confirmationUrl({ base, path, token, type, redirectTo }: ConfirmationLink): string {
  const address = path === OWN_LINK_PATH ? base.replace(/\/+$/, '') + path : new URL(path, base).href
  const target = NEEDS_ENCODING.test(redirectTo) ? encodeURIComponent(redirectTo) : redirectTo
  return `${address}${address.includes('?') ? '&' : '?'}token=${token}&type=${type}&redirect_to=${target}`
}

/** The kinds of mail that decide the path of a link, by the link's `type`. */
const PATHS = {
  signup: 'confirmation',
  invite: 'invite',
  magiclink: 'recovery',
  recovery: 'recovery',
  email_change: 'emailChange',
} as const

/** The path of a link generated for an admin (reference: Generated links). */
export function generatedLinkPath(
  config: {
    readonly compatibility: Pick<CompatibilityOptions, 'generatedLinkPath'>
    readonly mail: { readonly linkPaths: Readonly<Record<(typeof PATHS)[keyof typeof PATHS], string>> }
  },
  linkType: keyof typeof PATHS,
): string {
  return config.compatibility.generatedLinkPath === 'own' ? OWN_LINK_PATH : config.mail.linkPaths[PATHS[linkType]]
}

/** The kinds of mail, as in the settings MAILER_SUBJECTS_<KIND> and MAILER_TEMPLATES_<KIND>. */
export const MAIL_KINDS = [
  'INVITE',
  'CONFIRMATION',
  'RECOVERY',
  'MAGIC_LINK',
  'EMAIL_CHANGE',
  'REAUTHENTICATION',
  'PASSWORD_CHANGED_NOTIFICATION',
  'EMAIL_CHANGED_NOTIFICATION',
  'PHONE_CHANGED_NOTIFICATION',
  'IDENTITY_LINKED_NOTIFICATION',
  'IDENTITY_UNLINKED_NOTIFICATION',
  'MFA_FACTOR_ENROLLED_NOTIFICATION',
  'MFA_FACTOR_UNENROLLED_NOTIFICATION',
  'PASSKEY_ADDED_NOTIFICATION',
  'PASSKEY_REMOVED_NOTIFICATION',
  'PASSKEYS_KEPT_NOTIFICATION',
  'RECOVERY_CODES_CREATED_NOTIFICATION',
  'ACCOUNT_SECURED_NOTIFICATION',
] as const

/** A kind of mail. Each has a subject and a body (reference: Mail templates). */
export type MailKind = (typeof MAIL_KINDS)[number]

/** The templates of a mail, in the language of mail-template.ts. */
interface MailTexts {
  readonly subject: string
  readonly body: string
}

/** Used if the settings have no subject or no template that can be fetched (reference: Mail templates). */
export const DEFAULT_TEXTS: Readonly<Record<MailKind, MailTexts>> = {
  INVITE: {
    subject: "You've been invited",
    body: linkBody('{{ .Email }} has been invited to create an account at {{ .SiteURL }}.', 'Accept the invitation'),
  },
  CONFIRMATION: {
    subject: 'Confirm your email address',
    body: linkBody(
      'Confirm that {{ .Email }} is your address to finish signing up at {{ .SiteURL }}.',
      'Confirm your email address',
    ),
  },
  RECOVERY: {
    subject: 'Reset your password',
    body: linkBody('Somebody asked to reset the password of {{ .Email }} at {{ .SiteURL }}.', 'Reset your password'),
  },
  MAGIC_LINK: {
    subject: 'Your sign-in link',
    body: linkBody('Use this link to sign in to {{ .SiteURL }} as {{ .Email }}.', 'Sign in'),
  },
  EMAIL_CHANGE: {
    subject: 'Confirm your new email address',
    body: linkBody(
      'Confirm the change of your email address at {{ .SiteURL }} from {{ .Email }} to {{ .NewEmail }}.',
      'Confirm the change',
    ),
  },
  REAUTHENTICATION: {
    subject: '{{ .Token }} is your verification code',
    body: '<h2>Confirm that it is you</h2>\n<p>Enter this code: <strong>{{ .Token }}</strong></p>\n',
  },
  PASSWORD_CHANGED_NOTIFICATION: {
    subject: 'Your password was changed',
    body: noticeBody('The password of your account {{ .Email }} was changed.'),
  },
  EMAIL_CHANGED_NOTIFICATION: {
    subject: 'Your email address was changed',
    body: noticeBody('The email address of your account was changed from {{ .OldEmail }} to {{ .Email }}.'),
  },
  PHONE_CHANGED_NOTIFICATION: {
    subject: 'Your phone number was changed',
    body: noticeBody(
      'The phone number of your account {{ .Email }} was changed{{ if .OldPhone }} from {{ .OldPhone }}{{ end }} to {{ .Phone }}.',
    ),
  },
  IDENTITY_LINKED_NOTIFICATION: {
    subject: 'A new sign-in method was linked to your account',
    body: noticeBody('{{ .Provider }} was linked to your account {{ .Email }}.'),
  },
  IDENTITY_UNLINKED_NOTIFICATION: {
    subject: 'A sign-in method was removed from your account',
    body: noticeBody('{{ .Provider }} was removed from your account {{ .Email }}.'),
  },
  MFA_FACTOR_ENROLLED_NOTIFICATION: {
    subject: 'A new verification method was added to your account',
    body: noticeBody('A verification method ({{ .FactorType }}) was added to your account {{ .Email }}.'),
  },
  MFA_FACTOR_UNENROLLED_NOTIFICATION: {
    subject: 'A verification method was removed from your account',
    body: noticeBody('A verification method ({{ .FactorType }}) was removed from your account {{ .Email }}.'),
  },
  PASSKEY_ADDED_NOTIFICATION: {
    subject: 'A passkey was added to your account',
    body: noticeBody('A passkey was added to your account {{ .Email }}.'),
  },
  PASSKEY_REMOVED_NOTIFICATION: {
    subject: 'A passkey was removed from your account',
    body: noticeBody('A passkey was removed from your account {{ .Email }}.'),
  },
  PASSKEYS_KEPT_NOTIFICATION: {
    subject: 'Check the passkeys of your account',
    body: noticeBody(
      'Your account {{ .Email }} was recovered by a mail. Passkeys that were added in the last 30 days are still there: {{ .Passkeys }}. Remove those that you do not know.',
    ),
  },
  RECOVERY_CODES_CREATED_NOTIFICATION: {
    subject: 'New recovery codes were made for your account',
    body: noticeBody('New recovery codes were made for your account {{ .Email }}.'),
  },
  ACCOUNT_SECURED_NOTIFICATION: {
    subject: 'Your account was secured',
    body: noticeBody(
      'Sessions, passkeys and verification methods of your account {{ .Email }} that were made since {{ .Since }} were removed.',
    ),
  },
}

function linkBody(sentence: string, action: string): string {
  return `<h2>${action}</h2>
<p>${sentence}</p>
<p><a href="{{ .ConfirmationURL }}">${action}</a></p>
<p>Or enter this code: <strong>{{ .Token }}</strong></p>
<p>If you did not ask for this, ignore this mail.</p>
`
}

function noticeBody(sentence: string): string {
  return `<p>${sentence}</p>\n<p>If this was not you, contact support at once.</p>\n`
}
